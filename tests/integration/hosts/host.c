/* A program for a sanitizer to be built into, and for a debugger to look at. It allocates, frees,
 * starts a program that leaks (as most do), and ends with a status of its own. With an argument it
 * first writes where it must not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 100
#define STATUS 3

static void overrun(size_t size)
{
	volatile char *block = malloc(size);

	block[size] = 1;
}

int main(int count, char **arguments)
{
	char *blocks[BLOCKS];
	size_t sum = 0;

	(void)arguments;
	if (count > 1) {
		overrun((size_t)count * 4);
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(i + 1);
		memset(blocks[i], (int)i, i + 1);
		sum += (size_t)blocks[i][i / 2];
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		free(blocks[i]);
	}
	int status = system("/usr/bin/python3 -c 'import json; print(json.dumps([6 * 7]))'");
	printf("sum %zu, the other program's status %d\n", sum, status);
	return STATUS;
}
