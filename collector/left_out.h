/* left_out.h: what an answer leaves out of a snapshot that the request does not ask for. The lists
 * stay where they are: their counts are 0 while the answer is packed. One thread.
 */
#ifndef HK_COLLECTOR_LEFT_OUT_H
#define HK_COLLECTOR_LEFT_OUT_H

#include <stddef.h>

#include "schema/wire.pb-c.h"

#define HK_LEFT_OUT_SERIES 8u

/* The counts of one process. */
struct hk_left_out {
	size_t buckets, counted; /* n_buckets; n_bucket and n_count */
	size_t series[HK_LEFT_OUT_SERIES];
};

/* Leaves out of SNAPSHOT what REQUEST does not ask for. Sets one entry of RET_LEFT_OUT for each
 * process. */
void hk_left_out_take(Hk__Snapshot *snapshot, const Hk__SnapshotRequest *request,
		      struct hk_left_out *ret_left_out);

/* Undoes that. */
void hk_left_out_restore(Hk__Snapshot *snapshot, const struct hk_left_out *left_out);

#endif
