/* A stand-in for a driver library that hands its functions out by name and version, as libcuda
 * does; nothing in it is the real one's but the names. What it gives are its exported functions,
 * one that it does not export, and one outside of every library. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "driver.h"

#define SUCCESS 0
#define NOT_FOUND 500

static int taken;

int cuMemAlloc(unsigned *address, unsigned bytes)
{
	(void)bytes;
	*address = 0;
	return 1; /* an old form that must never be returned */
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	*address = 0x1000u * (uint64_t)++taken;
	return bytes ? SUCCESS : 1;
}

int cuMemFree_v2(uint64_t address)
{
	return address ? SUCCESS : 1;
}

int driverMemFree(uint64_t address) __attribute__((alias("cuMemFree_v2")));

static int internal(int a, int b, int c, int d, int e, int f, int g, int h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

/* mov $42, %eax; ret */
#if defined(__aarch64__)
static const unsigned code[] = {0x52800540, 0xd65f03c0};
#else
static const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};
#endif

static void *outside(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED) {
		return NULL;
	}
	memcpy(page, code, sizeof(code));
	return mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0 ? page : NULL;
}

int cuGetProcAddress(const char *name, void **result, int version, uint64_t flags)
{
	return cuGetProcAddress_v2(name, result, version, flags, NULL);
}

int cuGetProcAddress_v2(const char *name, void **result, int version, uint64_t flags, int *status)
{
	void *found =
	    strcmp(name, "cuMemAlloc") == 0
		? (version >= 3020 ? (void *)cuMemAlloc_v2 : (void *)cuMemAlloc)
	    : strcmp(name, "cuMemFree") == 0	       ? (void *)cuMemFree_v2
	    : strcmp(name, "cuLaunchKernel") == 0      ? (void *)internal
	    : strcmp(name, "cuStreamSynchronize") == 0 ? outside()
	    : strcmp(name, "cuGetProcAddress") == 0
		? (version >= 12000 ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress)
		: NULL;
	(void)flags;
	*result = found;
	if (status) {
		*status = !found;
	}
	return found ? SUCCESS : NOT_FOUND;
}
