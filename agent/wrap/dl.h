/* dl.h: the agent's wrappers of dlopen, dlmopen, dlclose, dlsym, dlvsym; dladdr, dladdr1; _exit,
 * _Exit; prctl, syscall.
 *
 * The loader looks at the caller of the first five except dlclose, so these end in a jump to the
 * original, with the caller's own return address. They notice new objects and exchange addresses;
 * the state of dlerror is unchanged. dladdr describes the function that a thunk stands for. _exit
 * runs no handler of the agent, so its wrapper notes the status. prctl and syscall may begin a
 * sandbox (wrap/sandbox.h). The functions after them in the table take the run directory out of
 * reach, or lock memory (wrap/departure.h).
 */
#ifndef HK_AGENT_WRAP_DL_H
#define HK_AGENT_WRAP_DL_H

/* Sets hk_wrapped_addresses. Once, before the first scan. */
void hk_dl_start(void);

#endif
