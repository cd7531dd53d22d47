/* Tutorial: find a leak. The program, which makes no mistake. */
#include <stdio.h>
#include <stdlib.h>

char *cache_key(int number);
void cache_drop(char *key);

int main(void)
{
	char *page = malloc(1 << 20);

	for (int request = 0; request < 100000; request++) {
		char *key = cache_key(request % 10);
		page[request] = key[0];
		cache_drop(key);
	}
	printf("%d\n", page[7]);
	free(page);
	return 0;
}
