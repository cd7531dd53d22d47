/* job_clock.h: converts ticks of a traced process to nanoseconds since the job's start.
 *
 * Ticks run linearly between the two anchors of a process. They give the monotonic clock of its
 * node, and the node's clock map gives the root's. The job knows its start on the root's clock.
 *
 * Processes of one machine share its monotonic clock, so their times compare to the nanosecond.
 * Without a map the node's realtime clock is used, taken once per node from its earliest process,
 * with an unknown error. Plain values, no state, any thread.
 */
#ifndef HK_REPORT_CLOCK_JOB_CLOCK_H
#define HK_REPORT_CLOCK_JOB_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/clock/clock_map.h"
#include "schema/wire.pb-c.h"

struct hk_report_clock {
	uint64_t ticks;	      /* the reference instant: the process's start */
	int64_t since_ns;     /* time of the reference instant, ns since the job's start */
	uint64_t tick_ns_q32; /* ns per tick, Q32 */
	/* Set for a process of another node than the root's. Otherwise NULL: since_ns then advances
	 * with the ticks. */
	const Hk__ClockMap *map;
	int64_t node_ns;       /* the node's clock at `ticks` */
	int64_t root_start_ns; /* the root's clock at the job's start */
	bool unsure;	       /* the error is unknown: another node without a map, or no anchors */
};

/* Returns the job's start in ns since the Unix epoch, or 0 if neither job nor processes name it. */
uint64_t hk_report_clock_origin(const Hk__Snapshot *snapshot);

/* Makes one clock for each process of SNAPSHOT, in their order. The caller frees them with free().
 * They point into SNAPSHOT, which must outlive them. A process without anchors counts its ticks
 * from the job's start. Returns 0 or -ENOMEM. */
int hk_report_clock_all(const Hk__Snapshot *snapshot, struct hk_report_clock **ret_clocks);

/* Returns `ticks` in ns since the job's start, negative before it. The result never decreases as
 * `ticks` grow. */
int64_t hk_report_clock_ns(const struct hk_report_clock *clock, uint64_t ticks);

/* Returns `ticks` of PROCESS on the monotonic clock of its node, in ns, by its newest anchors; 0
 * without anchors. */
int64_t hk_report_clock_monotonic_ns(const Hk__Process *process, uint64_t ticks);

/* Returns `ticks` on the monotonic clock of the process's node, in ns. */
int64_t hk_report_clock_node_ns(const struct hk_report_clock *clock, uint64_t ticks);

/* Sets *RET_ERROR to the largest errors, against the root's clock, of the times from `from` to
 * `to`, in ticks. Returns false if they are unknown. */
bool hk_report_clock_error(const struct hk_report_clock *clock, uint64_t from, uint64_t to,
			   struct hk_report_error *ret_error);

/* Returns the number of nodes of the job: those in its list, and the node of the collector that
 * keeps the job if processes ran there. */
size_t hk_report_clock_nodes(const Hk__Snapshot *snapshot);

/* Returns the node of PROCESS, or NULL if that is the node of the collector that keeps the job or
 * JOB does not list it. */
const Hk__Node *hk_report_clock_node(const Hk__Job *job, const Hk__Process *process);

/* Returns whether times of PROCESS's node can be converted to the clock of JOB's root, and sets
 * *RET_MAP to its map, or to NULL if it is the root's own node. */
bool hk_report_clock_map(const Hk__Job *job, const Hk__Process *process,
			 const Hk__ClockMap **ret_map);

/* Caches the map of the last process, as processes of a node mostly follow each other. Zero it
 * first. */
struct hk_report_map_memory {
	const Hk__Process *process;
	const Hk__ClockMap *map;
};

/* Converts `monotonic_ns` of the clock of PROCESS's node to ns since the Unix epoch on JOB's clock.
 * That is the root's realtime clock when the job was opened, continued by the root's monotonic
 * clock: a step of the wall clock does not move it. Returns false if JOB has no root anchor, or no
 * usable map of PROCESS's node. */
bool hk_report_clock_unix_ns(const Hk__Job *job, const Hk__Process *process, uint64_t monotonic_ns,
			     struct hk_report_map_memory *memory, uint64_t *ret_unix_ns);

#endif
