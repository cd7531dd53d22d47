/* Opens a library before main, as some libraries' constructors do. */
#include <dlfcn.h>

void *opener_handle(void);

static void *handle;

__attribute__((constructor)) static void start(void)
{
	handle = dlopen(OPENED, RTLD_NOW | RTLD_LOCAL);
}

void *opener_handle(void)
{
	return handle;
}
