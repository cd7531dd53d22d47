/* Allocations that test_compat.py knows. */
#include <stdlib.h>

int main(void)
{
	void *large = malloc(128u << 20);
	void *small = malloc(1536);
	void *array = calloc(3, 100);

	free(large);
	small = realloc(small, 2048);
	free(NULL);
	free(small);
	free(array);
	return 0;
}
