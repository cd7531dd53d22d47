/* wrapped.h: the functions of the host that have a wrapper of the agent's: names and originals.
 *
 * One original per function serves all slots.
 */
#ifndef HK_AGENT_PATCH_WRAPPED_H
#define HK_AGENT_PATCH_WRAPPED_H

#include <stdbool.h>

enum hk_wrapped {
	HK_WRAPPED_OPEN,
	HK_WRAPPED_MOPEN,
	HK_WRAPPED_CLOSE,
	HK_WRAPPED_SYM,
	HK_WRAPPED_VSYM,
	HK_WRAPPED_ADDR,
	HK_WRAPPED_ADDR1,
	HK_WRAPPED_EXIT,
	HK_WRAPPED_EXIT_C99,
	HK_WRAPPED_PRCTL,
	HK_WRAPPED_SYSCALL,
	HK_WRAPPED_SETUID,
	HK_WRAPPED_SETEUID,
	HK_WRAPPED_SETREUID,
	HK_WRAPPED_SETRESUID,
	HK_WRAPPED_SETFSUID,
	HK_WRAPPED_CHROOT,
	HK_WRAPPED_PIVOT_ROOT,
	HK_WRAPPED_UNSHARE,
	HK_WRAPPED_SETNS,
	HK_WRAPPED_MLOCKALL,
	HK_WRAPPED_SIGACTION,
	HK_WRAPPED_SIGNAL,
	HK_WRAPPED_SIGALTSTACK,
	HK_WRAPPED_EXECVE,
	HK_WRAPPED_EXECV,
	HK_WRAPPED_EXECVP,
	HK_WRAPPED_EXECVPE,
	HK_WRAPPED_FEXECVE,
	HK_WRAPPED_EXECL,
	HK_WRAPPED_EXECLP,
	HK_WRAPPED_EXECLE,
	HK_WRAPPED_SPAWN,
	HK_WRAPPED_SPAWNP,
	HK_WRAPPED_SYSTEM,
	HK_WRAPPED_POPEN,
	/* Of the tracing libraries of devices: only where device time is wanted. */
	HK_WRAPPED_TRACING,
	HK_WRAPPED_CUPTI_REGISTER = HK_WRAPPED_TRACING,
	HK_WRAPPED_CUPTI_REGISTER_V2,
	HK_WRAPPED_CUPTI_STAMP,
	HK_WRAPPED_CUPTI_ENABLE,
	HK_WRAPPED_CUPTI_DISABLE,
	HK_WRAPPED_CUPTI_FLUSH,
	HK_WRAPPED_CUPTI_SUBSCRIBE,
	HK_WRAPPED_CUPTI_SUBSCRIBE_V2,
	HK_WRAPPED_CUPTI_UNSUBSCRIBE,
	HK_WRAPPED_CUPTI_FINALIZE,
	HK_WRAPPED_MSPTI_REGISTER,
	HK_WRAPPED_MSPTI_ENABLE,
	HK_WRAPPED_MSPTI_DISABLE,
	HK_WRAPPED_MSPTI_FLUSH,
	HK_WRAPPED_COUNT,
};

/* The originals of the wrappers, by enum hk_wrapped; NULL: not found yet. The stubs of wrap/ read
 * them too. */
extern void *_Atomic hk_wrapped_originals[HK_WRAPPED_COUNT];

/* The wrappers, by enum hk_wrapped: addresses for slots; NULL: the function is not wrapped. Set
 * once, before the first scan. */
extern void *hk_wrapped_addresses[HK_WRAPPED_COUNT];

/* Number of the wrapper for FUNCTION, or -1 if there is none. */
int hk_wrapped_index(const char *function);

/* Returns whether a hook for the function of wrapper INDEX comes first: its thunk then calls the
 * wrapper. */
bool hk_wrapped_yields(int index);

/* Whether ADDRESS is that of a wrapper. */
bool hk_wrapped_is_wrapper(const void *address);

/* Returns the wrapper of ORIGINAL, whose name is FUNCTION, or ORIGINAL if there is no wrapper or
 * the wrapper calls another function. */
void *hk_wrapped_around(const char *function, void *original);

/* Makes wrapper INDEX call ORIGINAL. Returns 0, or -EEXIST if it calls another function already. */
int hk_wrapped_adopt(int index, void *original);

#endif
