/* cost.h: estimates what tracing costs a process, from its own calibration and its counts. Pure. */
#ifndef HK_COLLECTOR_PROCESS_COST_H
#define HK_COLLECTOR_PROCESS_COST_H

#include <stdint.h>

struct hk_process;
struct hk_segment_status;

/* What the cost of a call depends on beside its level. */
struct hk_cost_site {
	uint32_t flags;	 /* HK_HOOK_* */
	unsigned values; /* named values of a record */
};

/* Returns by how many picoseconds tracing lengthens a call of SITE at LEVEL (enum hk_level), as the
 * process measured at its first hooked call. At record+args it is a multiple of that. The process
 * makes a call every GAP_NS on average: calls in a row cost more than calls beside other work, and
 * calls after which the caches were used for other things cost most. */
uint64_t hk_cost_call_ps(const struct hk_segment_status *status, struct hk_cost_site site,
			 uint8_t level, uint64_t gap_ns);

/* Returns the nanoseconds of the agent's start in PROCESS, of its samples of threads and of all
 * calls so far. The cost of a call follows from the data that it left, whatever its level was. All
 * calls of a site that keeps arguments now count as if they kept them. The gap between calls is
 * the process's processor time over their number. Scans of objects loaded later are
 * not included. */
uint64_t hk_cost_total_ns(const struct hk_process *process);

#endif
