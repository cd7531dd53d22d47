/* process_state.h: the newest values of a process as one Hk__Process, kept up to date in place.
 *
 * The message is made of single allocations, as protobuf-c's own unpacking does it: free it with
 * hk__process__free_unpacked(state, NULL). Strings taken from a segment are copied.
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

/* A state with the identity of a segment, everything else empty. -ENOMEM. */
int hk_state_new(const struct hk_segment_identity *identity, Hk__Process **ret_state);

/* Reads the segment of PROCESS again into its state and sets `changed` if anything is new. Nothing
 * but counts of records and memory is looked at when neither cells nor threads have moved. FORCE:
 * look at everything. -ESTALE: the segment is gone or damaged, the state keeps what was read
 * before; -ENOMEM. */
int hk_state_refresh(const struct hk_collector *collector, struct hk_process *process, bool force);

/* CPU time, peak of resident memory and thread names from the kernel, while the process lives. */
void hk_state_usage(struct hk_process *process);

/* Forgets what the process was inside of. */
void hk_state_clear_open_calls(Hk__Process *state);

/* Name of thread UID as far as known; -ENOENT. */
int hk_state_thread_name(const Hk__Process *state, uint64_t uid, char *name, size_t size);

/* Now, on the clock of the process. */
int hk_state_stamp(const struct hk_collector *collector, const Hk__Process *state,
		   Hk__Anchor **anchor);

#endif
