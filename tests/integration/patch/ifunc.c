#include "target.h"

long target_chosen(long a);

static long plain(long a)
{
	return a + 7;
}

__attribute__((used)) static long (*choose(void))(long)
{
	return plain;
}

long target_chosen(long a) __attribute__((ifunc("choose")));
