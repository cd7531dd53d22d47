/* job_clock.h: converts ticks of a traced process to nanoseconds since the job's start. Ticks run
 * linearly between the two anchors of a process, which gives the monotonic clock of its node. From
 * there a node's clock map leads to the clock of the root, and the job knows its start on that.
 * Processes of one machine share its monotonic clock, so their times compare to the nanosecond.
 * Without a map realtime is used, taken once per node from its earliest process, with an unknown
 * error. Plain values, no state, any thread. */
#ifndef HK_REPORT_CLOCK_JOB_CLOCK_H
#define HK_REPORT_CLOCK_JOB_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/clock/clock_map.h"
#include "schema/wire.pb-c.h"

struct hk_report_clock {
	uint64_t ticks;	      /* reference instant ... */
	int64_t since_ns;     /* ... and when that was, in ns since the job's start */
	uint64_t tick_ns_q32; /* ns per tick, Q32 */
	/* Set for a process of another node than the root; else NULL, and since_ns advances with
	 * the ticks. */
	const Hk__ClockMap *map;
	int64_t node_ns;       /* the node's clock at `ticks` */
	int64_t root_start_ns; /* the root's clock at the job's start */
	bool unsure;	       /* of another node without a map, or without anchors */
};

/* When the job began: ns since the Unix epoch, 0 when nothing says so. */
uint64_t hk_report_clock_origin(const Hk__Snapshot *snapshot);

/* One clock for each of the snapshot's processes, in their order; the caller calls free(). They
 * point into the snapshot, which must last as long. A process without anchors counts its ticks from
 * the job's start. -ENOMEM. */
int hk_report_clock_all(const Hk__Snapshot *snapshot, struct hk_report_clock **ret_clocks);

/* `ticks` in ns since the job's start, negative before it. Never decreases as ticks grow. */
int64_t hk_report_clock_ns(const struct hk_report_clock *clock, uint64_t ticks);

/* `ticks` on the monotonic clock of the process's node. */
int64_t hk_report_clock_node_ns(const struct hk_report_clock *clock, uint64_t ticks);

/* Limits of the errors of times from `from` to `to` against those of the root's own processes;
 * false if unknown. */
bool hk_report_clock_error(const struct hk_report_clock *clock, uint64_t from, uint64_t to,
			   struct hk_report_error *ret_error);

/* Nodes of the job: those that are named, and that of the collector that kept it if it had
 * processes. */
size_t hk_report_clock_nodes(const Hk__Snapshot *snapshot);

/* The node of PROCESS; NULL: that of the collector that kept the job. */
const Hk__Node *hk_report_clock_node(const Hk__Job *job, const Hk__Process *process);

/* The map last asked for; processes of a node mostly follow each other. Zero it first. */
struct hk_report_map_memory {
	const Hk__Process *process;
	const Hk__ClockMap *map;
};

/* Converts `monotonic_ns` of the clock of PROCESS's node to ns since the Unix epoch on JOB's clock:
 * the root's realtime when the job was opened, continued by the root's monotonic clock, so that a
 * step of the wall clock does not move it. Returns false if JOB has no root anchor, or no usable
 * map of PROCESS's node. */
bool hk_report_clock_unix_ns(const Hk__Job *job, const Hk__Process *process, uint64_t monotonic_ns,
			     struct hk_report_map_memory *memory, uint64_t *ret_unix_ns);

#endif
