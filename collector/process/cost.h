/* cost.h: what tracing costs a process, estimated from its own calibration and its counts. Pure. */
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

/* Picoseconds that a call of SITE at LEVEL (enum hk_level) takes longer than an unhooked one, by
 * what the process measured at its first hooked call; at record+args a multiple of that. */
uint64_t hk_cost_call_ps(const struct hk_segment_status *status, struct hk_cost_site site,
			 uint8_t level);

/* Nanoseconds of the agent's start in PROCESS, of its looks at threads and of all its calls so far,
 * by what each left behind: whatever levels they were made at, but that all calls of a site that
 * keeps arguments now are taken to have kept them. Looks at objects loaded later are not in it. */
uint64_t hk_cost_total_ns(const struct hk_process *process);

#endif
