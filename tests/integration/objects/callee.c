/* Compiled twice: what STEP adds tells one library's functions from the other's. */
#include "callee.h"

long counted[COUNTED_KINDS];
long callee_data = 5;

long callee_add(long a, long b)
{
	__atomic_add_fetch(&counted[COUNTED_ADD], 1, __ATOMIC_RELAXED);
	callee_data = b;
	return a + b + STEP;
}

static long chosen(long a)
{
	__atomic_add_fetch(&counted[COUNTED_CHOSEN], 1, __ATOMIC_RELAXED);
	return a + STEP;
}

__attribute__((used)) static long (*choose(void))(long a)
{
	return chosen;
}

long callee_chosen(long a) __attribute__((ifunc("choose")));
