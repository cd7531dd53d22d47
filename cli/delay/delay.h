/* delay.h: what the waits of ranks for each other cost, charged to what made the awaited rank late:
 * Scalasca's delay costs (Boehme et al., "Identifying the root causes of wait states").
 *
 * A wait is charged to what the awaited rank did longer than the waiting one, since the two ranks
 * met for the last time. They met where one waited for the other, and in collectives of all with
 * all. The wait is spread over these excess times: of each call by function and stack, and of own
 * work. Own work is compared as a whole, and its excess spread over the parts that are longer. If
 * the awaited rank waited longer itself, that part is passed on to the rank that it waited for. So
 * the costs add up to the waits, without what cannot be charged. One thread.
 */
#ifndef HK_CLI_DELAY_DELAY_H
#define HK_CLI_DELAY_DELAY_H

#include "cli/delay/work_rows.h"

struct hk_delays {
	struct hk_work_rows rows; /* `ns`: the cost. `passed_ns`: part of it in waits of ranks that
				     were awaited by others meanwhile */
	uint64_t waits;
	double wait_ns;	     /* of all waits */
	double uncharged_ns; /* nothing that the awaited rank did was longer */
	uint64_t unsure;     /* waits that may be for another rank: clocks are too inexact */
	uint64_t shortened;  /* waits whose ranks were compared over the last calls only */
};

/* Charges the waits of HISTORY, which is finished. Returns 0 or -ENOMEM; to be freed with
 * hk_delays_fini in every case. */
int hk_delays_find(struct hk_history *history, struct hk_delays *ret_delays);
void hk_delays_fini(struct hk_delays *delays);

#endif
