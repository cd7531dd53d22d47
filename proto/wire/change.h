/* change.h: a process's newest values as the difference to what somebody has been told before.
 *
 * A change is an Hk__Process that holds, of the process it names:
 * - all numbers and enums, as they are now;
 * - texts, bytes and single messages that differ; none of them ever becomes empty again;
 * - of sites, threads, memory and cells the elements that differ, cells with only those buckets
 *   that do;
 * - all other lists whole.
 *
 * Values are cumulative, so merging a change twice does nothing more. A process as it is, merged
 * into an empty one, gives itself: whatever is told of a process can be merged.
 *
 * Whoever tells keeps what was told: once the other side has a change, it is merged into that too.
 * As long as nobody knows whether the other side has it, it is told again, the very same, before
 * another is made; or the next one is made against NULL, and holds everything. (Some values also go
 * back to what they were, so a later change against the same state may leave out what an earlier
 * one has changed.) Fields that Process gains are carried without a word here. No state; locked by
 * the caller.
 */
#ifndef HK_WIRE_CHANGE_H
#define HK_WIRE_CHANGE_H

#include "schema/wire.pb-c.h"

/* An empty process to merge into, with the UID of CHANGE. -EINVAL: no uid of 16 bytes; -ENOMEM. */
int hk_change_begin(const Hk__Process *change, Hk__Process **ret_state);

/* What NOW has and BEFORE (NULL: nothing was told) has not. 1 and *RET_CHANGE, which the caller
 * frees with hk__process__free_unpacked; 0: there is nothing to tell. -ENOMEM. */
int hk_change_make(const Hk__Process *now, const Hk__Process *before, Hk__Process **ret_change);

/* Moves what CHANGE holds into STATE; the parts of both are single allocations. CHANGE keeps its
 * uid and has what was replaced: the caller frees it. Takes time in proportion to both. -EINVAL:
 * about another process, or unsound columns: both are as they were. -ENOMEM: done in part; only a
 * change made against NULL completes STATE then. */
int hk_change_apply(Hk__Process *state, Hk__Process *change);

#endif
