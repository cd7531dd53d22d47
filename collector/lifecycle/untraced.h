/* untraced.h: adds processes that could make no segment of their own.
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

/* Adds the processes that ANCESTOR's segment lists to its job, and marks those that have ended, as
 * of the last read of the segment. LAST: no read follows, so processes without an end have
 * vanished. Returns 0, or -ENOMEM or -EFBIG if some were not added. */
int hk_untraced_follow(struct hk_collector *collector, struct hk_process *ancestor, bool last);

#endif
