/* Pools and virtual memory of the simulated driver. Physical memory of cuMemCreate counts; a
 * mapping makes its range accessible, and each range has pages of its own. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "driver.h"

#define GRANULARITY ((size_t)2 << 20)

struct sim_pool {
	int device;
};

static struct sim_pool default_pools[SIM_DEVICES] = {{0}, {1}};

int cuDeviceGetDefaultMemPool(struct sim_pool **pool, int device)
{
	if (device < 0 || device >= SIM_DEVICES) {
		return SIM_INVALID_DEVICE;
	}
	*pool = &default_pools[device];
	return SIM_SUCCESS;
}

/* The head of CUmemPoolProps is that of CUmemAllocationProp. */
int cuMemPoolCreate(struct sim_pool **pool, const struct sim_memory_properties *properties)
{
	*pool = properties ? malloc(sizeof(**pool)) : NULL;
	if (!*pool) {
		return SIM_INVALID_VALUE;
	}
	(*pool)->device = properties->location_id;
	return SIM_SUCCESS;
}

int cuMemPoolDestroy(struct sim_pool *pool)
{
	free(pool);
	return pool ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuMemPoolTrimTo(struct sim_pool *pool, size_t bytes)
{
	(void)bytes;
	return pool ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t size, struct sim_pool *pool,
			    CUstream stream)
{
	(void)stream;
	return pool ? sim_allocate(pointer, size, pool->device) : SIM_INVALID_VALUE;
}

int cuMemGetAllocationGranularity(size_t *granularity,
				  const struct sim_memory_properties *properties, int option)
{
	(void)properties;
	(void)option;
	*granularity = GRANULARITY;
	return SIM_SUCCESS;
}

int cuMemAddressReserve(CUdeviceptr *pointer, size_t size, size_t alignment, CUdeviceptr address,
			uint64_t flags)
{
	(void)alignment;
	(void)address;
	void *at =
	    flags == 0 && size % GRANULARITY == 0 && size
		? mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
		: MAP_FAILED;
	*pointer = (CUdeviceptr)at;
	return at == MAP_FAILED ? SIM_INVALID_VALUE : SIM_SUCCESS;
}

int cuMemAddressFree(CUdeviceptr pointer, size_t size)
{
	return munmap((void *)pointer, size) == 0 ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuMemMap(CUdeviceptr pointer, size_t size, size_t offset, uint64_t handle, uint64_t flags)
{
	(void)pointer;
	return handle && size && offset == 0 && flags == 0 ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuMemUnmap(CUdeviceptr pointer, size_t size)
{
	return mprotect((void *)pointer, size, PROT_NONE) == 0 ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuMemSetAccess(CUdeviceptr pointer, size_t size, const void *access, size_t count)
{
	return access && count && mprotect((void *)pointer, size, PROT_READ | PROT_WRITE) == 0
		   ? SIM_SUCCESS
		   : SIM_INVALID_VALUE;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	int device = 0;

	cuCtxGetDevice(&device);
	*total = SIM_DEVICE_BYTES;
	*free_bytes = SIM_DEVICE_BYTES - sim_used(device);
	return SIM_SUCCESS;
}

/* ---- devices, as far as PyTorch asks the driver itself */

int cuDeviceGet(int *device, int number)
{
	*device = number;
	return number >= 0 && number < SIM_DEVICES ? SIM_SUCCESS : SIM_INVALID_DEVICE;
}

int cuDeviceGetCount(int *count)
{
	*count = SIM_DEVICES;
	return SIM_SUCCESS;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
	*flags = 0;
	*active = 1;
	return device >= 0 && device < SIM_DEVICES ? SIM_SUCCESS : SIM_INVALID_DEVICE;
}
