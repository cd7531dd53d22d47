/* stored.h: the answer to a request that a stream engine has stored, as a root would give it. No
 * state. */
#ifndef HK_COLLECTOR_UPLINK_STORED_H
#define HK_COLLECTOR_UPLINK_STORED_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

/* Sets *RET_NUMBER to the newest chunk of process UID that is stored. Returns 0 or -errno. */
typedef int hk_stored_last(void *context, ProtobufCBinaryData uid, uint64_t *ret_number);

/* Sets *RET_ANSWER, which the caller frees, to what a root says of JOB, or NULL. Returns 0 or
 * -errno.
 */
typedef int hk_stored_answer(void *context, const Hk__LeafJob *job, Hk__LeafJobReply **ret_answer);

/* Where the engine is asked. */
struct hk_stored_engine {
	hk_stored_last *last;
	hk_stored_answer *answer;
	void *context;
};

/* Makes the answer to REQUEST, a report, a chunk or stacks: the caller's, freed by
 * hk__response__free_unpacked. Returns 0 or -errno. */
int hk_stored_reply(const Hk__Request *request, const struct hk_stored_engine *engine,
		    Hk__Response **ret_response);

#endif
