/* answer.h: what a root says about a job of a node, for the node's leaf: one value, the last.
 *
 * The engine keeps it for a day. Functions wait for the engine; errors are those of
 * hk_engine_store, with the reason in PROBLEM.
 */
#ifndef HK_COLLECTOR_ENGINE_ANSWER_H
#define HK_COLLECTOR_ENGINE_ANSWER_H

#include "collector/engine/connection.h"
#include "collector/model/job.h"
#include "schema/wire.pb-c.h"

#define HK_ANSWER_SECONDS 86400u
#define HK_ANSWER_KEY_BYTES 64u

/* The key of an answer to NODE about the job of KEY that it opened at OPENED_UNIX_NS. */
void hk_answer_key(const uint8_t node[HK_NODE_ID_BYTES], const char *key, uint64_t opened_unix_ns,
		   char ret_key[HK_ANSWER_KEY_BYTES]);

int hk_answer_put(struct hk_engine *engine, const char *key, const void *bytes, size_t size,
		  char problem[HK_ENGINE_PROBLEM_BYTES]);

/* Sets *RET_ANSWER, which the caller frees. NULL means that there is no answer. *RET_REVISION rises
 * with every answer. */
int hk_answer_get(struct hk_engine *engine, const char *key, Hk__LeafJobReply **ret_answer,
		  uint64_t *ret_revision, char problem[HK_ENGINE_PROBLEM_BYTES]);

#endif
