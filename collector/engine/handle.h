/* handle.h: what the files of this folder know of a connection. */
#ifndef HK_COLLECTOR_ENGINE_HANDLE_H
#define HK_COLLECTOR_ENGINE_HANDLE_H

#include "collector/engine/library.h"

struct hk_engine;

const struct hk_nats *hk_engine_nats(const struct hk_engine *engine);
/* Both NULL before the first connection. */
natsConnection *hk_engine_connection(const struct hk_engine *engine);
jsCtx *hk_engine_stream(const struct hk_engine *engine);

/* Writes the reason of a failure into PROBLEM, HK_ENGINE_PROBLEM_BYTES long, and returns it as
 * -errno: those of hk_engine_store.
 */
int hk_engine_failed(const struct hk_engine *engine, natsStatus status, jsErrCode code,
		     char *problem);

#endif
