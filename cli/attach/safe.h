/* safe.h: moments at which a thread may be made to call the loader. Main thread only.
 *
 * The loader takes locks that a thread must not hold already: its own, and malloc's. So the thread
 * must be outside of libc and the loader, or in a system call in which no such lock is held. Its
 * stack is walked, because a function of malloc may have been interrupted by a signal handler.
 */
#ifndef HK_CLI_ATTACH_SAFE_H
#define HK_CLI_ATTACH_SAFE_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/attach/symbols.h"
#include "cli/attach/target.h"

struct hk_safety {
	const struct hk_target *target;
	struct hk_symbols libc;
	bool own_malloc; /* the program or a library that it brought has a malloc */
	void *space;	 /* libunwind's */
};

/* Prepares to judge threads of TARGET. Returns 0, or -errno with the reason in WHY. */
int hk_safety_init(struct hk_safety *safety, const struct hk_target *target,
		   char why[HK_ATTACH_WHY_BYTES]);
void hk_safety_fini(struct hk_safety *safety);

/* Returns whether the thread TID, which is stopped in the system call SYSTEM_CALL (-1: none), may
 * call the loader. */
bool hk_safety_holds(const struct hk_safety *safety, pid_t tid, long system_call);

#endif
