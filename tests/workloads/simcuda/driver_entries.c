/* The entries of the simulated driver that are counted, and how its users get the address of any.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

_Atomic unsigned long sim_counts[COUNTS];

/* By exported name, and by the name that cuGetProcAddress knows it by; with flag 2 the one whose
 * name ends in _ptsz. cuCtxGetDevice, cuStreamGetDevice and cuGetProcAddress are not counted: a
 * tracer may ask them. */
#define ENTRY(base, function)                       \
	{                                           \
		base, #function, (void *)(function) \
	}
static const struct {
	const char *base;
	const char *name;
	void *function;
} entries[] = {
    [COUNTED(cuInit)] = ENTRY("cuInit", cuInit),
    [COUNTED(cuDevicePrimaryCtxRetain)] =
	ENTRY("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain),
    [COUNTED(cuCtxSetCurrent)] = ENTRY("cuCtxSetCurrent", cuCtxSetCurrent),
    [COUNTED(cuCtxGetCurrent)] = ENTRY("cuCtxGetCurrent", cuCtxGetCurrent),
    [COUNTED(cuCtxSynchronize)] = ENTRY("cuCtxSynchronize", cuCtxSynchronize),
    [COUNTED(cuMemAlloc_v2)] = ENTRY("cuMemAlloc", cuMemAlloc_v2),
    [COUNTED(cuMemAllocPitch_v2)] = ENTRY("cuMemAllocPitch", cuMemAllocPitch_v2),
    [COUNTED(cuMemAllocAsync)] = ENTRY("cuMemAllocAsync", cuMemAllocAsync),
    [COUNTED(cuMemAllocAsync_ptsz)] = ENTRY("cuMemAllocAsync", cuMemAllocAsync_ptsz),
    [COUNTED(cuMemAllocManaged)] = ENTRY("cuMemAllocManaged", cuMemAllocManaged),
    [COUNTED(cuMemHostAlloc)] = ENTRY("cuMemHostAlloc", cuMemHostAlloc),
    [COUNTED(cuMemHostRegister_v2)] = ENTRY("cuMemHostRegister", cuMemHostRegister_v2),
    [COUNTED(cuMemHostUnregister)] = ENTRY("cuMemHostUnregister", cuMemHostUnregister),
    [COUNTED(cuMemFree_v2)] = ENTRY("cuMemFree", cuMemFree_v2),
    [COUNTED(cuMemFreeAsync)] = ENTRY("cuMemFreeAsync", cuMemFreeAsync),
    [COUNTED(cuMemFreeAsync_ptsz)] = ENTRY("cuMemFreeAsync", cuMemFreeAsync_ptsz),
    [COUNTED(cuMemFreeHost)] = ENTRY("cuMemFreeHost", cuMemFreeHost),
    [COUNTED(cuMemCreate)] = ENTRY("cuMemCreate", cuMemCreate),
    [COUNTED(cuMemRelease)] = ENTRY("cuMemRelease", cuMemRelease),
    [COUNTED(cuMemcpy)] = ENTRY("cuMemcpy", cuMemcpy),
    [COUNTED(cuMemcpyHtoD_v2)] = ENTRY("cuMemcpyHtoD", cuMemcpyHtoD_v2),
    [COUNTED(cuMemcpyDtoH_v2)] = ENTRY("cuMemcpyDtoH", cuMemcpyDtoH_v2),
    [COUNTED(cuMemcpyAsync)] = ENTRY("cuMemcpyAsync", cuMemcpyAsync),
    [COUNTED(cuMemcpyAsync_ptsz)] = ENTRY("cuMemcpyAsync", cuMemcpyAsync_ptsz),
    [COUNTED(cuMemsetD8_v2)] = ENTRY("cuMemsetD8", cuMemsetD8_v2),
    [COUNTED(cuLaunchKernel)] = ENTRY("cuLaunchKernel", cuLaunchKernel),
    [COUNTED(cuLaunchKernel_ptsz)] = ENTRY("cuLaunchKernel", cuLaunchKernel_ptsz),
    [COUNTED(cuLaunchKernelEx)] = ENTRY("cuLaunchKernelEx", cuLaunchKernelEx),
    [COUNTED(cuStreamCreate)] = ENTRY("cuStreamCreate", cuStreamCreate),
    [COUNTED(cuStreamDestroy_v2)] = ENTRY("cuStreamDestroy", cuStreamDestroy_v2),
    [COUNTED(cuStreamSynchronize)] = ENTRY("cuStreamSynchronize", cuStreamSynchronize),
    [COUNTED(cuStreamQuery)] = ENTRY("cuStreamQuery", cuStreamQuery),
    [COUNTED(cuEventCreate)] = ENTRY("cuEventCreate", cuEventCreate),
    [COUNTED(cuEventDestroy_v2)] = ENTRY("cuEventDestroy", cuEventDestroy_v2),
    [COUNTED(cuEventRecord)] = ENTRY("cuEventRecord", cuEventRecord),
    [COUNTED(cuEventQuery)] = ENTRY("cuEventQuery", cuEventQuery),
    [COUNTED(cuEventSynchronize)] = ENTRY("cuEventSynchronize", cuEventSynchronize),
};

void sim_driver_counts(int fd)
{
	const char *comma = "";

	dprintf(fd, "{");
	for (unsigned i = 0; i < COUNTS; i++) {
		if (sim_counts[i] > 0) {
			dprintf(fd, "%s\"%s\":%lu", comma, entries[i].name, sim_counts[i]);
			comma = ",";
		}
	}
	dprintf(fd, "}");
}

/* Functions of the other files are found by their exported names. */
static void *find_uncounted(const char *symbol, bool per_thread)
{
	static const char *const endings[] = {"_ptsz", "_v2", ""};
	char name[128];
	void *found = NULL;

	for (unsigned i = per_thread ? 0 : 1; i < 3 && !found; i++) {
		snprintf(name, sizeof(name), "%s%s", symbol, endings[i]);
		found = dlsym(RTLD_DEFAULT, name);
	}
	return found;
}

int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
			int *status)
{
	bool per_thread = (flags & 2) != 0;

	(void)version;
	*function = strcmp(symbol, "cuGetProcAddress") == 0 ? (void *)cuGetProcAddress_v2 : NULL;
	for (unsigned i = 0; i < COUNTS; i++) {
		bool is_per_thread = strstr(entries[i].name, "_ptsz") != NULL;
		if (strcmp(entries[i].base, symbol) == 0 && (!is_per_thread || per_thread)) {
			*function = entries[i].function; /* _ptsz comes second */
		}
	}
	*function = *function ? *function : find_uncounted(symbol, per_thread);
	if (status) {
		*status = *function ? 0 : 1;
	}
	return *function ? SIM_SUCCESS : SIM_NOT_FOUND;
}
