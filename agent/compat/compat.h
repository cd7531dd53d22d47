/* compat.h: what users of cuda_mock know, from inside the process, under HOOK_COMPAT=1: a line per
 * call, its arguments, a line per allocation (compat/settings.h has the variables).
 *
 * The lines are written when a call returns, in its thread; nothing is buffered.
 */
#ifndef HK_AGENT_COMPAT_COMPAT_H
#define HK_AGENT_COMPAT_COMPAT_H

#include "agent/hooks/compat_settings.h"

/* Whether some call may have to print something: then no call goes the short way. */
extern bool hk_compat_prints;

/* Takes SETTINGS, which are kept by reference. Once, before the first site. */
void hk_compat_start(const struct hk_compat_settings *settings);

/* A call that returned after NS, and its named values. */
struct hk_compat_call {
	uint64_t ns;
	const uint64_t *values; /* NULL: not wanted at its level */
};

/* Prints what is asked for of a struct hk_call and its struct hk_compat_call. Through
 * hk_state_saved. Always 0. Takes up to HK_COMPAT_STACK_BYTES of the stack, with what that keeps:
 * paths and signatures are long. */
#define HK_COMPAT_STACK_BYTES 16384u
int hk_compat_print(void *call, void *told);

#endif
