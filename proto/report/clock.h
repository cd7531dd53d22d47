/* clock.h: ticks of a traced process as nanoseconds since the job's start.
 *
 * Processes of a host share one monotonic clock, so their times compare to the nanosecond: realtime
 * is taken once per host, from its earliest process. Ticks run linearly between the two anchors of
 * a process. Plain values, no state, any thread.
 */
#ifndef HK_REPORT_CLOCK_H
#define HK_REPORT_CLOCK_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_report_clock {
	uint64_t ticks;	      /* reference instant ... */
	int64_t since_ns;     /* ... and when that was, in ns since the job's start */
	uint64_t tick_ns_q32; /* ns per tick, Q32 */
};

/* When the job began: ns since the Unix epoch, 0 when nothing says so. */
uint64_t hk_report_clock_origin(const Hk__Snapshot *snapshot);

/* One clock for each of the snapshot's processes, in their order; the caller calls free(). A
 * process without anchors counts its ticks from the job's start. -ENOMEM. */
int hk_report_clock_all(const Hk__Snapshot *snapshot, struct hk_report_clock **ret_clocks);

/* `ticks` in ns since the job's start, negative before it. Never decreases as ticks grow. */
int64_t hk_report_clock_ns(const struct hk_report_clock *clock, uint64_t ticks);

#endif
