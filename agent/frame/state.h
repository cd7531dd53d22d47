/* state.h: calls ordinary C functions in the midst of the host's call. */
#ifndef HK_AGENT_FRAME_STATE_H
#define HK_AGENT_FRAME_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* Calls FUNCTION(FIRST, SECOND) with all vector and x87 registers saved around it, and returns its
 * result. */
int hk_state_saved(int (*function)(void *, void *), void *first, void *second);

/* Returns whether the stack has that many bytes below the caller's frame. It is known for alternate
 * signal stacks only; other stacks count as having room. */
bool hk_state_has_bytes(uint64_t bytes);

/* Returns whether there is room for the functions that hk_state_saved calls on the way in. If not,
 * the call counts as untracked. */
#define HK_STATE_SLOW_BYTES 1536u /* but for the saved registers */
bool hk_state_has_room(void);

/* Returns whether there is room for the slow part of a way out. Returns false inside of the agent:
 * it has saved the registers already, and a second copy may not fit. */
bool hk_state_may_save(void);

/* Returns whether the 4-byte word around ADDRESS can be read, by one system call that sandboxes
 * allow. */
bool hk_state_is_readable(uintptr_t address);

/* Finds out which registers this processor has. Before the first hooked call. */
void hk_state_setup(void);

#endif
