/* untraced.h: processes that could make no segment of their own.
 *
 * Each has an entry in the segment of an ancestor (ring/segment.h: struct hk_untraced). Here it
 * becomes a process of the ancestor's job, without a segment and without calls, whose note says
 * why.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_UNTRACED_H
#define HK_COLLECTOR_LIFECYCLE_UNTRACED_H

#include <stdbool.h>

struct hk_collector;
struct hk_process;

/* Files the processes that ANCESTOR's segment tells of under its job, and notes which have ended,
 * as of the last look at the segment. LAST: it is the last one; those of whose end nothing is known
 * have vanished. -ENOMEM or -EFBIG: some are not filed. */
int hk_untraced_follow(struct hk_collector *collector, struct hk_process *ancestor, bool last);

#endif
