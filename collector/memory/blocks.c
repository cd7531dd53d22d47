#include "collector/memory/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 1024u

static size_t home(const struct hk_blocks *blocks, uint64_t pointer)
{
	/* Fibonacci hashing: allocators hand out multiples of 16. */
	return (size_t)((pointer * 0x9e3779b97f4a7c15u) >> 20) & (blocks->capacity - 1);
}

struct hk_heap_block *hk_blocks_find(const struct hk_blocks *blocks, uint64_t pointer)
{
	if (blocks->capacity == 0 || pointer == 0) {
		return NULL;
	}
	size_t i = home(blocks, pointer);
	while (blocks->slots[i].pointer != 0) {
		if (blocks->slots[i].pointer == pointer) {
			return &blocks->slots[i];
		}
		i = (i + 1) & (blocks->capacity - 1);
	}
	return NULL;
}

static void place(struct hk_blocks *blocks, const struct hk_heap_block *block)
{
	size_t i = home(blocks, block->pointer);
	while (blocks->slots[i].pointer != 0) {
		i = (i + 1) & (blocks->capacity - 1);
	}
	blocks->slots[i] = *block;
}

static int grow(struct hk_blocks *blocks)
{
	struct hk_blocks larger = {
	    .capacity = blocks->capacity ? blocks->capacity * 2 : CAPACITY_FIRST,
	    .count = blocks->count,
	};
	larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < blocks->capacity; i++) {
		if (blocks->slots[i].pointer != 0) {
			place(&larger, &blocks->slots[i]);
		}
	}
	free(blocks->slots);
	*blocks = larger;
	return 0;
}

int hk_blocks_put(struct hk_blocks *blocks, const struct hk_heap_block *block)
{
	if (blocks->count >= HK_BLOCKS_MAX) {
		return -ENOSPC;
	}
	/* At most three quarters full: probes stay short. */
	if ((blocks->count + 1) * 4 > blocks->capacity * 3) {
		int r = grow(blocks);
		if (r < 0) {
			return r;
		}
	}
	place(blocks, block);
	blocks->count++;
	return 0;
}

void hk_blocks_remove(struct hk_blocks *blocks, struct hk_heap_block *block)
{
	size_t mask = blocks->capacity - 1;
	size_t hole = (size_t)(block - blocks->slots);
	/* Moves back blocks that could not be found past the hole. */
	for (size_t i = (hole + 1) & mask; blocks->slots[i].pointer != 0; i = (i + 1) & mask) {
		size_t wanted = home(blocks, blocks->slots[i].pointer);
		if (((i - wanted) & mask) >= ((i - hole) & mask)) {
			blocks->slots[hole] = blocks->slots[i];
			hole = i;
		}
	}
	blocks->slots[hole].pointer = 0;
	blocks->count--;
}

void hk_blocks_fini(struct hk_blocks *blocks)
{
	free(blocks->slots);
	memset(blocks, 0, sizeof(*blocks));
}
