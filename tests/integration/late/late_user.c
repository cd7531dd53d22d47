/* A library that is opened late, and calls another one. */
#include "late_library.h"

/* Returns how many of COUNT calls were right. */
long late_use(long count)
{
	long right = 0;
	for (long i = 0; i < count; i++) {
		right += late_marked(i) == (i ^ 0x55);
	}
	return right;
}
