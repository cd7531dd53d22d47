/* store_limit.h: limits the size of the collector's store by removing the oldest finished jobs.
 *
 * A job is removed only if it lies in the store itself, if it has ended by its job.json and that of
 * every node in it, and if it is not open here. So running jobs stay, and jobs whose directory was
 * named when they began, as `hookcli run --store` does. No state.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_STORE_LIMIT_H
#define HK_COLLECTOR_LIFECYCLE_STORE_LIMIT_H

struct hk_collector;

/* Removes finished jobs, in the order of their ends, until the store's jobs take at most
 * options.keep_store bytes (0: a quarter of its file system). Returns the number of removed jobs.
 */
unsigned hk_store_trim(struct hk_collector *collector);

#endif
