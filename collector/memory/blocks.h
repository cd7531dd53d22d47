/* blocks.h: the live heap blocks of one process: pointer -> size, owner, allocation.
 *
 * An open-addressing table without tombstones: 32 bytes a slot, at most HK_BLOCKS_MAX blocks. Not
 * thread-safe. A zeroed struct is an empty table; fini frees what it holds.
 */
#ifndef HK_COLLECTOR_MEMORY_BLOCKS_H
#define HK_COLLECTOR_MEMORY_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#define HK_BLOCKS_MAX (8u << 20)

struct hk_heap_block {
	uint64_t pointer;   /* 0: unused slot */
	uint64_t size;	    /* bytes asked for */
	uint64_t end_ticks; /* when its allocation returned */
	uint32_t account;   /* number of the owner in the accounts */
	uint32_t thread;    /* low bits of the uid of the thread that allocated it */
};

struct hk_blocks {
	struct hk_heap_block *slots;
	size_t capacity; /* power of two or 0 */
	size_t count;
};

/* Returns the block at POINTER or NULL. Valid until the next put or remove. */
struct hk_heap_block *hk_blocks_find(const struct hk_blocks *blocks, uint64_t pointer);

/* Adds BLOCK, whose pointer is not 0 and not in the table. Returns 0, -ENOSPC at HK_BLOCKS_MAX, or
 * -ENOMEM. */
int hk_blocks_put(struct hk_blocks *blocks, const struct hk_heap_block *block);

/* Removes BLOCK, which find has returned. */
void hk_blocks_remove(struct hk_blocks *blocks, struct hk_heap_block *block);

void hk_blocks_fini(struct hk_blocks *blocks);

#endif
