/* state.h: calling ordinary C from the middle of somebody else's function call. */
#ifndef HK_AGENT_FRAME_STATE_H
#define HK_AGENT_FRAME_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* FUNCTION(FIRST, SECOND) with all vector and x87 registers saved around it. */
int hk_state_saved(int (*function)(void *, void *), void *first, void *second);

/* Whether the stack has so many bytes below the caller's frame. Only of an alternate signal stack
 * this is known; others have room. */
bool hk_state_has_bytes(uint64_t bytes);

/* Whether there is room for what hk_state_saved calls on the way in of a call; else the call counts
 * as untracked. */
#define HK_STATE_SLOW_BYTES 1536u /* but for the saved registers */
bool hk_state_has_room(void);

/* Whether there is that room for the slow part of a way out. False while the agent is busy: it
 * saved the registers already, and a second copy may not fit. */
bool hk_state_may_save(void);

/* Whether the 4-byte word around ADDRESS can be read; one system call that sandboxes let pass. */
bool hk_state_is_readable(uintptr_t address);

/* Finds out what has to be saved on this processor; before the first hooked call. */
void hk_state_setup(void);

#endif
