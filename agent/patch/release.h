/* release.h: makes calls bypass the agent again.
 *
 * Only slots for calls are restored. If a program may compare the address in a slot with one that
 * it read before, the thunk stays, and only jumps to the function.
 */
#ifndef HK_AGENT_PATCH_RELEASE_H
#define HK_AGENT_PATCH_RELEASE_H

/* Makes all calls of this process bypass the agent for good. Restores the PLT slots of all objects
 * to the function or the loader's stub. If the loader's lock is busy, thunks stay in the slots, and
 * call the functions. */
void hk_release_all(void);

#endif
