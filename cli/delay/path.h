/* path.h: the critical path of a job: what it would have to do faster to end earlier.
 *
 * It is followed backwards from the end of the rank that ends last: along that rank's time to its
 * last wait, from there on along the rank that it waited for, and so on. In a call that waits for a
 * device it follows the device's work, to where that was submitted. So its parts add up to the time
 * from the begin of the rank at its other end until the last end. Where records are missing it is
 * unknown. One thread.
 */
#ifndef HK_CLI_DELAY_PATH_H
#define HK_CLI_DELAY_PATH_H

#include "cli/delay/work_rows.h"

struct hk_path {
	struct hk_work_rows rows; /* `ns`: on the path */
	double class_ns[HK_WORK_CLASSES];
	double all_ns;
	uint64_t jumps; /* to another rank */
	/* Jumps that may go to another rank, and waits that may be none: clocks are too inexact. */
	uint64_t unsure;
	int32_t last; /* rank that ended last; -1: there are no calls */
};

/* Follows the path through HISTORY, which is finished. Returns 0 or -ENOMEM; to be freed with
 * hk_path_fini in every case. */
int hk_path_find(const struct hk_history *history, struct hk_path *ret_path);
void hk_path_fini(struct hk_path *path);

#endif
