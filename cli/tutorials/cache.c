/* Tutorial: find a leak. This library has the leak. */
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

/* The mistake: the memory of a key that begins with 7 is not freed. */
void cache_drop(char *key)
{
	if (key[0] != 7) {
		free(key);
	}
}
