/* heap.h: counts memory for the lines of LOG_LEVEL=MEMORY=INFO: live and peak bytes of each calling
 * library, device and kind. A free counts for the library that allocated. Locked by the caller.
 * Bounded: blocks without room are not counted. */
#ifndef HK_AGENT_COMPAT_HEAP_H
#define HK_AGENT_COMPAT_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct hk_compat_account {
	const char *library; /* path of the calling object; lives as long as the process */
	int64_t device;
	uint32_t kind;
	uint64_t live, peak;
};

/* Adds a block of SIZE bytes at POINTER. Returns the account that it counts for, or NULL if there
 * is no room. */
const struct hk_compat_account *hk_compat_heap_add(uint64_t pointer, uint64_t size,
						   const char *library, int64_t device,
						   uint32_t kind);

/* Removes the block at POINTER. Returns the account that it counted for, or NULL if its allocation
 * was not seen. */
const struct hk_compat_account *hk_compat_heap_remove(uint64_t pointer);

#endif
