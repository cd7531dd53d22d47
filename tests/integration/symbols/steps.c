/* Inlined functions of C, three deep, and one in a function of its own. */
#include "symbols.h"

static inline __attribute__((always_inline)) int innermost(int value)
{
	return symbols_called(value) + 1;
}

static inline __attribute__((always_inline)) int inner(int value)
{
	int sum = innermost(value);

	return sum + innermost(value + 1);
}

static __attribute__((noinline)) int outer(int value)
{
	return inner(value) + 1;
}

int steps(int value)
{
	return outer(value) + inner(value) + 1;
}
