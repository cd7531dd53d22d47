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

/* Appends one object, or one frame, to STATE. The caller keeps to the order of their numbers.
 * Return 0 or -ENOMEM. */
int hk_stacks_add_object(Hk__Process *state, uint32_t number, const struct hk_stack_object *object,
			 const char *path);
int hk_stacks_add_frame(Hk__Process *state, const struct hk_stack_frame *frame);

/* The number of frames in STATE. */
uint32_t hk_stacks_frames(const Hk__Process *state);

#endif
