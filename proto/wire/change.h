/* change.h: a process's new values as the difference to what a receiver has.
 *
 * A change is an Hk__Process that holds, of the process it names:
 * - all numbers and enums, with their present values;
 * - texts, bytes and single messages that differ; none of them ever becomes empty again;
 * - of the lists of `hk_change_is_by_element`, as sites and threads, and of cells the elements that
 *   differ, cells with only those buckets that do;
 * - all other lists whole.
 *
 * Values are cumulative, so merging a change twice has no further effect. A whole process is a
 * change too: merged into an empty one it gives itself.
 *
 * The sender keeps the receiver's state: it merges a change into that once the receiver has
 * acknowledged it. Until then it repeats the same change before it makes another, or it makes the
 * next one against NULL, which holds everything. (Some values return to earlier ones, so a later
 * change against the same state may leave out what an earlier one has changed.) New fields of
 * Process need no code here. No state; locked by the caller.
 */
#ifndef HK_WIRE_CHANGE_H
#define HK_WIRE_CHANGE_H

#include <stdbool.h>

#include "schema/wire.pb-c.h"

/* Whether FIELD of Process is a list that is sent element by element. Elements have a key in
 * change.c. */
bool hk_change_is_by_element(const ProtobufCFieldDescriptor *field);

/* Makes an empty process to merge into, with the UID of CHANGE. Returns 0, -EINVAL without a uid of
 * 16 bytes, or -ENOMEM. */
int hk_change_begin(const Hk__Process *change, Hk__Process **ret_state);

/* Makes the difference of NOW to BEFORE (NULL: empty). Returns 1 and *RET_CHANGE, which the caller
 * frees with hk__process__free_unpacked, 0 without a difference, or -ENOMEM. */
int hk_change_make(const Hk__Process *now, const Hk__Process *before, Hk__Process **ret_change);

/* Moves the content of CHANGE into STATE; the parts of both are single allocations. CHANGE keeps
 * its uid and receives the replaced parts: the caller frees it. Takes time in proportion to both.
 * Returns 0; -EINVAL for another process or invalid columns, with both unchanged; or -ENOMEM if
 * only a part was moved: then only a change made against NULL completes STATE. */
int hk_change_apply(Hk__Process *state, Hk__Process *change);

#endif
