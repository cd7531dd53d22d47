#include "dump/write/pool.h"

#include <stdlib.h>

#include "dump/format.h"

#define SMALL_BYTES 65536u /* malloc keeps what is smaller at hand itself */

static const struct {
	size_t bytes;
	unsigned kept;
} sizes[HK_POOL_SIZES] = {{HK_DUMP_PART_BYTES / 4, HK_POOL_KEPT},
			  {HK_DUMP_PART_BYTES, HK_POOL_KEPT / 4}};

void hk_pool_init(struct hk_pool *pool)
{
	*pool = (struct hk_pool){0};
	pthread_mutex_init(&pool->lock, NULL);
}

void hk_pool_fini(struct hk_pool *pool)
{
	for (unsigned size = 0; size < HK_POOL_SIZES; size++) {
		while (pool->counts[size] > 0) {
			free(pool->kept[size][--pool->counts[size]]);
		}
	}
	pthread_mutex_destroy(&pool->lock);
}

void *hk_pool_take(struct hk_pool *pool, size_t size, size_t *ret_cost)
{
	const unsigned class = size > sizes[0].bytes;
	void *memory = NULL;

	if (size <= SMALL_BYTES) {
		*ret_cost = size;
		return malloc(size + 1);
	}
	*ret_cost = sizes[class].bytes;
	pthread_mutex_lock(&pool->lock);
	if (pool->counts[class] > 0) {
		memory = pool->kept[class][--pool->counts[class]];
	}
	pthread_mutex_unlock(&pool->lock);
	return memory ? memory : malloc(sizes[class].bytes);
}

void hk_pool_give(struct hk_pool *pool, void *memory, size_t cost)
{
	const unsigned class = cost > sizes[0].bytes;

	if (cost > SMALL_BYTES) {
		pthread_mutex_lock(&pool->lock);
		if (pool->counts[class] < sizes[class].kept) {
			pool->kept[class][pool->counts[class]++] = memory;
			memory = NULL;
		}
		pthread_mutex_unlock(&pool->lock);
	}
	free(memory);
}
