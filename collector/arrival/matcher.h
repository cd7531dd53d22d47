/* matcher.h: matches the collective calls of a job's ranks while the job runs.
 *
 * Calls belong together by communicator, function and number. A collective is complete when all
 * ranks of its communicator have entered it: those of the job for MPI_COMM_WORLD, else those that
 * were seen once each of these had begun HK_MATCHER_SETTLED calls of one function. What the ranks
 * waited is then added to sums, by the rules of report/wait. A rank that appears later ends the
 * matching of its communicator, and its sums are taken back.
 *
 * Memory is bounded by counts, not by time: collectives that wait for ranks take HK_MATCHER_PARTS
 * places together, and the oldest one is pushed out for a new one. A collective of a rank whose
 * calls cannot be numbered is not matched. All input is checked; it may come from a socket. One
 * thread.
 */
#ifndef HK_COLLECTOR_ARRIVAL_MATCHER_H
#define HK_COLLECTOR_ARRIVAL_MATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

#define HK_MATCHER_PARTS (1u << 19) /* 16 MiB; a collective takes one for each rank, and four */
#define HK_MATCHER_KINDS 256u	    /* functions on communicators */
#define HK_MATCHER_COMMS 256u
/* Ranks over all communicators, 13 MiB, and over all kinds, 7 MiB. */
#define HK_MATCHER_MEMBERS (1u << 17)
#define HK_MATCHER_SETTLED 256u
#define HK_MATCHER_BEGINNINGS 1024u /* of a communicator, each by new processes */
#define HK_MATCHER_SUMS 32u	    /* that are shown */
#define HK_MATCHER_LATE 8u	    /* ranks of each of them */

struct hk_matcher;

/* The process whose calls are matched. */
struct hk_matcher_caller {
	uint64_t owner; /* number of the process, not 0 */
	int32_t rank;
	bool has_clock;		 /* its times can be converted */
	const Hk__ClockMap *map; /* to the root's clock, valid; NULL: they are by it */
};

/* Makes a matcher that keeps up to PARTS places. It continues the sums BEFORE, which may be NULL.
 * Returns NULL without memory. */
struct hk_matcher *hk_matcher_new(size_t parts, const Hk__Waits *before);
/* Frees; accepts NULL, returns NULL. */
struct hk_matcher *hk_matcher_free(struct hk_matcher *matcher);

/* Sets how many ranks MPI_COMM_WORLD has. */
void hk_matcher_set_world(struct hk_matcher *matcher, int32_t ranks);

/* Adds the calls in MESSAGE, which CALLER made. Returns 0, -EBADMSG if the message is invalid, or
 * -ENOMEM. */
int hk_matcher_take(struct hk_matcher *matcher, const struct hk_matcher_caller *caller,
		    const Hk__Arrivals *message);

/* Sets *RET_WAITS to the sums so far, or to NULL if there are none. The caller frees the sums by
 * hk__waits__free_unpacked. Returns 0 or -ENOMEM. */
int hk_matcher_sums(const struct hk_matcher *matcher, Hk__Waits **ret_waits);

#endif
