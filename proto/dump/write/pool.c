#include "dump/write/pool.h"

#include <stdlib.h>

#include "dump/format.h"

#define SMALL_BYTES 65536u /* malloc keeps what is smaller at hand itself */

void hk_pool_init(struct hk_pool *pool)
{
	*pool = (struct hk_pool){0};
	pthread_mutex_init(&pool->lock, NULL);
}

void hk_pool_fini(struct hk_pool *pool)
{
	while (pool->count > 0) {
		free(pool->kept[--pool->count]);
	}
	pthread_mutex_destroy(&pool->lock);
}

void *hk_pool_take(struct hk_pool *pool, size_t size, size_t *ret_cost)
{
	void *memory = NULL;

	if (size <= SMALL_BYTES) {
		*ret_cost = size;
		return malloc(size + 1);
	}
	*ret_cost = HK_DUMP_PART_BYTES;
	pthread_mutex_lock(&pool->lock);
	if (pool->count > 0) {
		memory = pool->kept[--pool->count];
	}
	pthread_mutex_unlock(&pool->lock);
	return memory ? memory : malloc(HK_DUMP_PART_BYTES);
}

void hk_pool_give(struct hk_pool *pool, void *memory, size_t cost)
{
	if (cost == HK_DUMP_PART_BYTES) {
		pthread_mutex_lock(&pool->lock);
		if (pool->count < HK_POOL_KEPT) {
			pool->kept[pool->count++] = memory;
			memory = NULL;
		}
		pthread_mutex_unlock(&pool->lock);
	}
	free(memory);
}
