/* search.h: messages of a stream by their subject and number. Functions wait for the engine; errors
 * are those of hk_engine_store, with the reason in PROBLEM. */
#ifndef HK_COLLECTOR_ENGINE_SEARCH_H
#define HK_COLLECTOR_ENGINE_SEARCH_H

#include "collector/engine/connection.h"
#include "collector/engine/handle.h"

/* Gets the first message of SUBJECT behind message BEHIND and before message BEFORE. Returns 1 with
 * its number and the message, which the caller destroys; 0 if no such message exists; or -errno. */
int hk_search_next(struct hk_engine *engine, const char *subject, uint64_t behind, uint64_t before,
		   uint64_t *ret_sequence, natsMsg **ret_message,
		   char problem[HK_ENGINE_PROBLEM_BYTES]);

#endif
