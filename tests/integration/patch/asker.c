#include <dlfcn.h>
#include <stddef.h>

#include "lookup.h"

static long call(void *found, long count)
{
	long (*side)(void) = (long (*)(void))found;
	long result = 0;
	for (long i = 0; side && i < count; i++) {
		result = side();
	}
	return result;
}

long asker_sides(long count)
{
	return call(dlsym(RTLD_DEFAULT, "target_side"), count) * 10 +
	       call(dlsym(RTLD_NEXT, "target_side"), count);
}

void *asker_of(const char *name)
{
	/* No tail call, or the program would be the caller. */
	void *volatile found = dlsym(dlopen(NULL, RTLD_NOW), name);
	return found;
}
