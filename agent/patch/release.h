/* release.h: calls that go past the agent again.
 *
 * Only slots that are there for calls are given back: where a program may compare the address in a
 * slot with one that it took before, the thunk stays, and jumps on.
 */
#ifndef HK_AGENT_PATCH_RELEASE_H
#define HK_AGENT_PATCH_RELEASE_H

/* Lets all calls of this process go past the agent for good. Puts back what the PLT slots of all
 * objects held before a thunk did: the function, or the loader's stub. Where the loader's lock is
 * not to be had, the thunks stay there too. */
void hk_release_all(void);

#endif
