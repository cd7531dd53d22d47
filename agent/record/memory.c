#include "record/memory.h"

#include <stddef.h>
#include <sys/mman.h>

#include "record/process.h"
#include "ring/kernel.h"

/* BYTES of which a fork wipes the first WIPED: both end at the end of a page. */
static char *map_memory(uint64_t bytes, uint64_t wiped)
{
	if (hk_process.sealed) {
		return NULL;
	}
	long address = hk_kernel(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (address < 0 && address > -4096) {
		return NULL;
	}
	if (hk_kernel(SYS_madvise, address, wiped, MADV_WIPEONFORK, 0, 0, 0) < 0) {
		hk_kernel(SYS_munmap, address, bytes, 0, 0, 0, 0);
		return NULL;
	}
	return (char *)address;
}

void *hk_memory_private(uint64_t bytes)
{
	return map_memory(bytes, bytes);
}

void *hk_memory_divided(uint64_t bytes, uint64_t wiped)
{
	char *memory = map_memory(HK_WIPE_BYTES - wiped + bytes, HK_WIPE_BYTES);
	return memory ? memory + HK_WIPE_BYTES - wiped : NULL;
}

void hk_memory_return_divided(void *memory, uint64_t bytes, uint64_t wiped)
{
	uint64_t before = HK_WIPE_BYTES - wiped;
	hk_kernel(SYS_munmap, (char *)memory - before, before + bytes, 0, 0, 0, 0);
}
