/* Has a RUNPATH of its own: only a dlopen that comes from here finds the plug-in. */
#include <dlfcn.h>
#include <stddef.h>

#include "target.h"

long opener_run(const char *name, const char *symbol, long count)
{
	void *handle = dlopen(name, RTLD_NOW);
	if (!handle) {
		return -1;
	}
	void *found = dlsym(handle, symbol);
	long (*run)(long) = (long (*)(long))found;
	long sum = run ? run(count) : -2;
	if (dlerror()) {
		return -3;
	}
	return dlclose(handle) == 0 ? sum : -4;
}
