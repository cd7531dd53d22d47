/* stacks.h: the frames of a process's stacks, copied from its segment into its message.
 *
 * Frames and objects never change, so only those behind the last ones are read. Not thread-safe.
 */
#ifndef HK_COLLECTOR_PROCESS_STACKS_H
#define HK_COLLECTOR_PROCESS_STACKS_H

#include "ring/reader.h"
#include "schema/wire.pb-c.h"

/* Appends to STATE what READER has more. Returns 0, -ESTALE if the segment proved damaged, or
 * -ENOMEM. */
int hk_stacks_refresh(Hk__Process *state, struct hk_reader *reader);

/* The number of frames in STATE. */
uint32_t hk_stacks_frames(const Hk__Process *state);

#endif
