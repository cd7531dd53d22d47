/* store_limit.h: a bound on all jobs of the collector's store: the oldest finished ones are
 * removed.
 *
 * Only what lies in the store itself, has ended (by its job.json, and that of every node in it) and
 * is not open here: running jobs stay, and so do those whose directory was named when they were
 * begun, as `hookcli run --store` does. No state.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_STORE_LIMIT_H
#define HK_COLLECTOR_LIFECYCLE_STORE_LIMIT_H

struct hk_collector;

/* Removes finished jobs, those that ended first first, until the store's jobs take no more than
 * options.keep_store bytes (0: a quarter of its file system). How many were removed. */
unsigned hk_store_trim(struct hk_collector *collector);

#endif
