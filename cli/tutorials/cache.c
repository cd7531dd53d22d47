/* Tutorial: find a leak. The library in which it is. */
#include <stdlib.h>
#include <string.h>

char *cache_key(int number);
void cache_drop(char *key);

char *cache_key(int number)
{
	char *key = malloc(1000);

	memset(key, number, 1000);
	return key;
}

/* The mistake: of a key that begins with 7 the memory stays. */
void cache_drop(char *key)
{
	if (key[0] != 7) {
		free(key);
	}
}
