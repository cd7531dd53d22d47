/* A stand-in for a runtime library that reaches the driver by dlopen, dlsym and cuGetProcAddress.
 */
#include <dlfcn.h>

#include "driver.h"

static get_v2_function get;

static int begin(void)
{
	void *driver = get ? NULL : dlopen("libdriver.so", RTLD_NOW);
	if (driver) {
		get = (get_v2_function)dlsym(driver, "cuGetProcAddress_v2");
	}
	return get ? 0 : 1;
}

int cudaGetDriverEntryPointByVersion(const char *name, void **result, unsigned version,
				     uint64_t flags, int *status)
{
	return begin() ? 1 : get(name, result, (int)version, flags, status);
}

int cudaGetDriverEntryPoint(const char *name, void **result, uint64_t flags, int *status)
{
	return cudaGetDriverEntryPointByVersion(name, result, 12000, flags, status);
}

int runtime_run(int count)
{
	void *found;
	uint64_t address;
	int failed = begin() || get("cuMemAlloc", &found, 12000, 0, NULL);
	alloc_function alloc = failed ? NULL : (alloc_function)found;
	for (int i = 0; alloc && i < count; i++) {
		failed |= alloc(&address, 64);
	}
	return failed;
}
