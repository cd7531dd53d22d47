/* answers.h: what this root says about jobs, sent to the leaves of its partition.
 *
 * Only what is new is sent: the first answer, which replaces that of an earlier root, changed
 * levels, the job's end, stacks that are wanted, a state that is wanted whole. A thread sends; the
 * rest is for one thread.
 */
#ifndef HK_COLLECTOR_FEED_ANSWERS_H
#define HK_COLLECTOR_FEED_ANSWERS_H

#include "collector/engine/connection.h"
#include "collector/model/job.h"
#include "schema/wire.pb-c.h"

struct hk_answers;

/* ENGINE outlives the answers. Returns 0 or -errno. */
int hk_answers_open(struct hk_engine *engine, struct hk_answers **ret_answers);
/* Accepts NULL, returns NULL. */
struct hk_answers *hk_answers_free(struct hk_answers *answers);

/* Sends ANSWER to NODE, if it is new. Returns 0 or -errno. */
int hk_answers_give(struct hk_answers *answers, const uint8_t node[HK_NODE_ID_BYTES],
		    const Hk__LeafJobReply *answer);

#endif
