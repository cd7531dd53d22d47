/* A library that calls another one; built once for each way a linker has to do that. */
#include "library.h"

int USER(unsigned times)
{
	int sum = 0;
	for (unsigned i = 0; i < times; i++) {
		sum += changes_number((int)i);
	}
	return sum;
}
