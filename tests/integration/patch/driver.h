/* driver.h: what driver.c and runtime.c have in common with CUDA's libraries: names and arguments.
 */
#ifndef HK_PATCH_DRIVER_H
#define HK_PATCH_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int (*launch_function)(int, int, int, int, int, int, int, int);
typedef int (*alloc_function)(uint64_t *, size_t);
typedef int (*free_function)(uint64_t);
typedef int (*sync_function)(void *);
typedef int (*get_function)(const char *, void **, int, uint64_t);
typedef int (*get_v2_function)(const char *, void **, int, uint64_t, int *);

int cuMemAlloc(unsigned *address, unsigned bytes);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemFree_v2(uint64_t address);
int driverMemFree(uint64_t address);
int cuGetProcAddress(const char *name, void **result, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *name, void **result, int version, uint64_t flags, int *status);

/* runtime.c, which opens the driver: */
int cudaGetDriverEntryPoint(const char *name, void **result, uint64_t flags, int *status);
int cudaGetDriverEntryPointByVersion(const char *name, void **result, unsigned version,
				     uint64_t flags, int *status);
/* Allocates COUNT times through the driver's pointer, like a runtime linked into a library. */
int runtime_run(int count);

#endif
