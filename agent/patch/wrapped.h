/* wrapped.h: the functions of the host that have a wrapper of the agent's: names and originals.
 *
 * One original per function serves all slots.
 */
#ifndef HK_AGENT_PATCH_WRAPPED_H
#define HK_AGENT_PATCH_WRAPPED_H

#include <stdbool.h>

enum hk_dl {
	HK_DL_OPEN,
	HK_DL_MOPEN,
	HK_DL_CLOSE,
	HK_DL_SYM,
	HK_DL_VSYM,
	HK_DL_ADDR,
	HK_DL_ADDR1,
	HK_DL_EXIT,
	HK_DL_EXIT_C99,
	HK_DL_PRCTL,
	HK_DL_SYSCALL,
	HK_DL_SETUID,
	HK_DL_SETEUID,
	HK_DL_SETREUID,
	HK_DL_SETRESUID,
	HK_DL_SETFSUID,
	HK_DL_CHROOT,
	HK_DL_PIVOT_ROOT,
	HK_DL_UNSHARE,
	HK_DL_SETNS,
	HK_DL_MLOCKALL,
	HK_DL_COUNT,
};

/* What the wrappers call, by enum hk_dl; NULL: not met yet. Read by the stubs of wrap/ too. */
extern void *_Atomic hk_dl_originals[HK_DL_COUNT];

/* The wrappers, by enum hk_dl: addresses that go into slots. Set once, before the first scan. */
extern void *hk_dl_wrappers[HK_DL_COUNT];

/* Number of the wrapper for FUNCTION, or -1. */
int hk_dl_index(const char *function);

/* Whether wrapper INDEX gives way to a hook for its function: that calls the wrapper then. */
bool hk_dl_yields(int index);

/* Whether ADDRESS is that of a wrapper. */
bool hk_dl_is_wrapper(const void *address);

/* What is to be called in place of ORIGINAL, which is called FUNCTION: its wrapper, or ORIGINAL if
 * there is none or that one calls another function. */
void *hk_dl_around(const char *function, void *original);

/* Makes ORIGINAL what wrapper INDEX calls. -EEXIST: it already calls another function. */
int hk_dl_adopt(int index, void *original);

#endif
