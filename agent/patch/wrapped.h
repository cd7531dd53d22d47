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
	HK_WRAPPED_COUNT,
};

/* What the wrappers call, by enum hk_wrapped; NULL: not met yet. Read by the stubs of wrap/ too. */
extern void *_Atomic hk_wrapped_originals[HK_WRAPPED_COUNT];

/* The wrappers, by enum hk_wrapped: addresses that go into slots. Set once, before the first scan.
 */
extern void *hk_wrapped_addresses[HK_WRAPPED_COUNT];

/* Number of the wrapper for FUNCTION, or -1. */
int hk_wrapped_index(const char *function);

/* Whether wrapper INDEX gives way to a hook for its function: that calls the wrapper then. */
bool hk_wrapped_yields(int index);

/* Whether ADDRESS is that of a wrapper. */
bool hk_wrapped_is_wrapper(const void *address);

/* What is to be called in place of ORIGINAL, which is called FUNCTION: its wrapper, or ORIGINAL if
 * there is none or that one calls another function. */
void *hk_wrapped_around(const char *function, void *original);

/* Makes ORIGINAL what wrapper INDEX calls. -EEXIST: it already calls another function. */
int hk_wrapped_adopt(int index, void *original);

#endif
