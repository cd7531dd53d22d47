/* frame_json.h: a frame of a stack in JSON, as `report --by stack` and `stacks` have it. No state.
 */
#ifndef HK_CLI_TABLES_FRAME_JSON_H
#define HK_CLI_TABLES_FRAME_JSON_H

#include "schema/wire.pb-c.h"
#include "text/json_stream.h"

/* Writes an element for each function at frame NUMBER of PROCESS, which exists: those that were
 * inlined there, innermost first, and then the frame's own. */
void hk_frame_json_write(const Hk__Process *process, uint32_t number, struct hk_json *json);

#endif
