#include "agent/memory/mapping.h"

#include <stddef.h>
#include <sys/mman.h>

#include "ring/kernel.h"

char *hk_mapping_make(uint64_t hint, uint64_t bytes, int protection)
{
	long address = hk_kernel(SYS_mmap, hint, bytes, protection,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return address < 0 && address > -4096 ? NULL : (char *)address;
}

void hk_mapping_remove(char *memory, uint64_t bytes)
{
	if (memory) {
		hk_kernel(SYS_munmap, memory, bytes, 0, 0, 0, 0);
	}
}

void hk_mapping_clear(char *start, uint64_t bytes)
{
	hk_kernel(SYS_mmap, start, bytes, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool hk_mapping_wipe_on_fork(char *memory, uint64_t bytes)
{
	return hk_kernel(SYS_madvise, memory, bytes, MADV_WIPEONFORK, 0, 0, 0) == 0;
}

void *hk_mapping_private(uint64_t bytes)
{
	char *memory = hk_mapping_make(0, bytes, PROT_READ | PROT_WRITE);
	if (memory && !hk_mapping_wipe_on_fork(memory, bytes)) {
		hk_mapping_remove(memory, bytes);
		memory = NULL;
	}
	return memory;
}
