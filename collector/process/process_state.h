/* process_state.h: the newest values of a process as one Hk__Process, kept up to date in place.
 *
 * Each part of the message is an allocation of its own, as protobuf-c's unpacking makes them: free
 * it with hk__process__free_unpacked(state, NULL). Strings taken from a segment are copied.
 */
#ifndef HK_COLLECTOR_PROCESS_PROCESS_STATE_H
#define HK_COLLECTOR_PROCESS_PROCESS_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_process;
struct hk_segment_identity;

/* Makes a state with the identity of a segment, and all else empty. Returns 0 or -ENOMEM. */
int hk_state_new(const struct hk_segment_identity *identity, Hk__Process **ret_state);

/* Reads the segment of PROCESS into its state again, and sets `changed` if it is different. If
 * neither cells nor threads have changed it reads only the counts of records and memory, unless
 * FORCE is set. Returns 0, -ENOMEM, or -ESTALE if the segment was removed or is damaged: the state
 * then keeps its old values. */
int hk_state_refresh(const struct hk_collector *collector, struct hk_process *process, bool force);

/* Updates CPU time, peak of resident memory and thread names from the kernel, while the process
 * lives. */
void hk_state_usage(struct hk_process *process);

/* Forgets what the process was inside of. */
void hk_state_clear_open_calls(Hk__Process *state);

/* Name of thread UID as far as known; -ENOENT. */
int hk_state_thread_name(const Hk__Process *state, uint64_t uid, char *name, size_t size);

/* Now, on the clock of the process. */
int hk_state_stamp(const struct hk_collector *collector, const Hk__Process *state,
		   Hk__Anchor **anchor);

#endif
