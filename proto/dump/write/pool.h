/* pool.h: memory for parts of payloads that was used before, so that the kernel need not clear
 * pages for each. Thread-safe. */
#ifndef HK_DUMP_POOL_H
#define HK_DUMP_POOL_H

#include <pthread.h>
#include <stddef.h>

#define HK_POOL_KEPT 32

struct hk_pool {
	pthread_mutex_t lock; /* protects: kept, count */
	void *kept[HK_POOL_KEPT];
	unsigned count;
};

void hk_pool_init(struct hk_pool *pool);
void hk_pool_fini(struct hk_pool *pool);

/* Memory of at least SIZE bytes, at most HK_DUMP_PART_BYTES; *RET_COST: so many. NULL: none. */
void *hk_pool_take(struct hk_pool *pool, size_t size, size_t *ret_cost);
void hk_pool_give(struct hk_pool *pool, void *memory, size_t cost);

#endif
