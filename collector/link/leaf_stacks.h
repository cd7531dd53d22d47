/* leaf_stacks.h: a leaf's part of the stacks that its root collects (gather.h). One thread. */
#ifndef HK_COLLECTOR_LINK_LEAF_STACKS_H
#define HK_COLLECTOR_LINK_LEAF_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_job;
struct hk_survey;
struct hk_uplink;

struct hk_leaf_stacks {
	uint64_t number; /* of the newest request; 0: none yet */
	char *key;	 /* of the job of the request under way; NULL: none */
	struct hk_survey *survey;
	Hk__Process **processes; /* what is to be sent; NULL: nothing yet */
	size_t count;
	uint64_t until_ns; /* the root waits no longer */
};

/* The root wants what REPLY says of JOB. Nothing happens if that is known already, or if another
 * survey is under way; the root then asks again. */
void hk_leaf_stacks_want(struct hk_leaf_stacks *stacks, struct hk_collector *collector,
			 const struct hk_job *job, const Hk__LeafJobReply *reply);

/* Continues. Returns the slot of UPLINK by which the part was sent now, or -EAGAIN. NODE is this
 * machine's id. */
int hk_leaf_stacks_run(struct hk_leaf_stacks *stacks, struct hk_collector *collector,
		       struct hk_uplink *uplink, uint8_t *node);

/* Whether hk_leaf_stacks_run is to be called soon. */
bool hk_leaf_stacks_is_busy(const struct hk_leaf_stacks *stacks);

void hk_leaf_stacks_fini(struct hk_leaf_stacks *stacks, struct hk_collector *collector);

#endif
