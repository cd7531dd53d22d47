/* growth.h: the function of one rank whose time per step grew most, from a pass over the job's
 * records. Time counts without the calls that a function made itself. One thread.
 */
#ifndef HK_CLI_STEPS_GROWTH_H
#define HK_CLI_STEPS_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

/* Steps of a rank. */
struct hk_growth_span {
	uint64_t from_ns, to_ns;
	double steps;
};

struct hk_growth_query {
	int32_t rank;
	bool own; /* without calls that wait for other ranks, and what they call */
	struct hk_growth_span before, after;
};

struct hk_growth {
	char *function;		    /* NULL: the time outside of recorded calls grew most */
	double before_ns, after_ns; /* of a step */
};

/* Finds what grew most on the first thread of QUERY's rank in SNAPSHOT's job, whose files lie in
 * DIRECTORY. Returns 0 or -errno. To be freed with hk_growth_fini in every case. */
int hk_growth_read(const Hk__Snapshot *snapshot, const char *directory,
		   const struct hk_growth_query *query, struct hk_growth *ret_growth);
void hk_growth_fini(struct hk_growth *growth);

#endif
