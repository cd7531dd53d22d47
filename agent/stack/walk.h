/* walk.h: the functions that are open on the calling thread's stack, innermost first.
 *
 * A walk takes no lock, allocates nothing and changes no errno. It makes system calls only for
 * pages of the stack that no walk of the thread has read before. The rows that it needs are kept
 * for all threads. It never reads a page of which it does not know that it can be read. General
 * registers only.
 */
#ifndef HK_AGENT_STACK_WALK_H
#define HK_AGENT_STACK_WALK_H

#include <stdint.h>

#include "agent/record/thread.h"

/* The registers of a frame. */
struct hk_frame {
	uint64_t pc, sp, fp;
	uint64_t link; /* the link register; on x86-64 unused */
	bool exact;    /* PC is the next instruction; else a return address, behind its call */
};

/* Why a walk ended. Part of the segment's format. */
enum hk_walk_end {
	HK_WALK_WHOLE = 0,    /* at the first function of the thread */
	HK_WALK_DEEP = 1,     /* HK_WALK_FRAMES were found */
	HK_WALK_UNKNOWN = 2,  /* code without unwind information */
	HK_WALK_COMPLEX = 3,  /* code whose unwind information only a whole unwinder understands */
	HK_WALK_ASTRAY = 4,   /* the next frame would not lie on the stack */
	HK_WALK_NO_CALLS = 5, /* the process makes no system call any more: a page could not be
				 checked */
};

/* Writes the addresses of the frames from FROM on to WALK: each lies in the instruction that is
 * under way. WALK is the calling thread's own. */
void hk_walk_take(struct hk_frame from, struct hk_thread_walk *walk);

#endif
