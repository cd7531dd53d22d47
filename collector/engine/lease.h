/* lease.h: the owner of a partition of the stream, and the position to which it was read.
 *
 * A lease is a key that is over when it was not renewed for HK_LEASE_SECONDS. The position is the
 * sequence number of the last message whose effect is on disk. Only the lease's owner writes it,
 * and the write fails if another root has written it meanwhile. Functions wait for the engine;
 * errors are those of hk_engine_store, with the reason in PROBLEM.
 */
#ifndef HK_COLLECTOR_ENGINE_LEASE_H
#define HK_COLLECTOR_ENGINE_LEASE_H

#include "collector/engine/connection.h"

#define HK_LEASE_SECONDS 10u
#define HK_LEASE_OWNER_BYTES 128u

struct hk_lease {
	struct hk_engine *engine;
	unsigned partition;
	char owner[HK_LEASE_OWNER_BYTES];
	uint64_t revision;	    /* of the lease */
	uint64_t position_revision; /* 0: there is no position yet */
	uint64_t position;
	int64_t created; /* when the stream was made that the position is of; 0: no position */
};

/* Takes the lease of PARTITION for OWNER, and reads the position. Returns -EBUSY if another has it,
 * whose name is then in PROBLEM. */
int hk_lease_take(struct hk_engine *engine, unsigned partition, const char *owner,
		  struct hk_lease *ret_lease, char problem[HK_ENGINE_PROBLEM_BYTES]);
/* Returns -ESTALE if the lease is another's. */
int hk_lease_renew(struct hk_lease *lease, char problem[HK_ENGINE_PROBLEM_BYTES]);
/* Returns -ESTALE if another has written the position. */
int hk_lease_position(struct hk_lease *lease, uint64_t position, int64_t created,
		      char problem[HK_ENGINE_PROBLEM_BYTES]);
void hk_lease_release(const struct hk_lease *lease);

/* Reads the owner of PARTITION, "": none, and its position, 0: none. */
int hk_lease_look(struct hk_engine *engine, unsigned partition, char owner[HK_LEASE_OWNER_BYTES],
		  uint64_t *ret_position, char problem[HK_ENGINE_PROBLEM_BYTES]);

#endif
