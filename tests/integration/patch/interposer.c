/* Stands before libtarget.so, and hands calls on: by RTLD_NEXT, or with HANDLE by the name of the
 * library. */
#include <dlfcn.h>
#include <stddef.h>

#include "lookup.h"

static long calls;

static void *next(void)
{
#ifdef HANDLE
	void *handle = dlopen("libtarget.so", RTLD_NOW);
	return handle ? dlsym(handle, "target_add") : NULL;
#else
	return dlsym(RTLD_NEXT, "target_add");
#endif
}

long target_add(long a, long b)
{
	static target_function add;
	if (!add) {
		add = (target_function)next();
	}
	calls++;
	return add(a, b);
}

long interposer_calls(void)
{
	return calls;
}
