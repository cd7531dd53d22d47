/* leaf_arrivals.h: the collective calls of a leaf's processes, on their way to the root.
 *
 * Each call is sent once. A report that is lost leaves a gap in the numbers of the calls, which the
 * root counts. One thread.
 */
#ifndef HK_COLLECTOR_LINK_LEAF_ARRIVALS_H
#define HK_COLLECTOR_LINK_LEAF_ARRIVALS_H

#include <stddef.h>

#include "schema/wire.pb-c.h"

struct hk_job;

#define HK_LEAF_ARRIVALS_BYTES (1u << 20)

struct hk_leaf_arrivals {
	size_t bytes;
	Hk__Arrivals **list;
	size_t count;
};

/* Adds new calls of JOB's processes, up to about HK_LEAF_ARRIVALS_BYTES in all. The rest waits.
 * What finds no memory is missing. */
void hk_leaf_arrivals_take(struct hk_leaf_arrivals *arrivals, const struct hk_job *job);

void hk_leaf_arrivals_fini(struct hk_leaf_arrivals *arrivals);

#endif
