/* state.h: calling ordinary C from the middle of somebody else's function call. */
#ifndef HK_AGENT_FRAME_STATE_H
#define HK_AGENT_FRAME_STATE_H

#include <stdint.h>

/* FUNCTION(FIRST, SECOND) with all vector and x87 registers saved around it. */
int hk_state_saved(int (*function)(void *, void *), void *first, void *second);

/* Finds out what has to be saved on this processor; before the first hooked call. */
void hk_state_setup(void);

#endif
