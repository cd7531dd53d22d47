/* thread.h: a thread's private state, and its place in the segment.
 *
 * One struct hk_thread per thread that made a hooked call. A fork wipes the fields that mark it as
 * in use: `ready` reads 0 in the child, so the child's first hooked call takes the slow path and
 * gets a segment of its own. The other fields stay: a signal handler may fork in the midst of a
 * call and return in the child too, and what that call then writes must find the parent's segment.
 * A thread that ends leaves its struct, its slot and its cells to the next new thread, so
 * short-lived threads cost no memory and no statistics are merged.
 */
#ifndef HK_AGENT_RECORD_THREAD_H
#define HK_AGENT_RECORD_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/record/layout.h"
#include "agent/record/usual.h"
#include "ring/chain.h"
#include "ring/segment.h"

#define HK_KEPT_CALLS 256u /* without a frame (kept.h), open at a time */
#define HK_KEPT_CROWD 256  /* calls between two looks for room for more */
#define HK_RANGES 64u	   /* open ranges kept per thread; deeper ones have a depth only */

struct hk_site_hot;

/* An open call of a plain site (call/plain_call.h), in memory of the program's. */
struct hk_plain_call {
	struct hk_thread *thread; /* that it began on; NULL: not measured, or ended */
	struct hk_site_hot *site;
	uint32_t cell;				 /* its offset in the segment */
	uint32_t depth;				 /* open calls around it */
	uint64_t start_ticks, child_ns, domains; /* child_ns and domains: the thread's before it */
};

#define HK_RANGE_ENDED (~0u)

#define HK_PLAIN_CELLS 512u

/* An open range of annotate.h. */
struct hk_range {
	struct hk_plain_call call;
	uint32_t group; /* annotate.h; HK_RANGE_ENDED: it ended before those above it */
};

/* A sample takes about half a microsecond, which is a quarter of a percent of this time. */
#define HK_WORK_LONG_NS 200000ULL

/* The kernel's facts of a thread at one moment. */
struct hk_work_sample {
	uint64_t ticks;	 /* when that was */
	uint64_t ran_ns; /* on a processor so far */
	uint64_t sleeps; /* number of voluntary waits */
};

/* The thread's work: call/work.h. */
struct hk_work {
	uint64_t from_ticks;	    /* when the stretch that lasts began, ~0: there is none */
	uint64_t short_ticks;	    /* of short stretches, not yet in the slot */
	uint64_t settle_ticks;	    /* so many go to the slot; 0: there was no look yet */
	uint64_t long_ticks;	    /* a stretch this long is a long one */
	uint64_t sample_ticks;	    /* what the shortest look took; 0: there was none yet */
	uint64_t call_address;	    /* return address of the call whose end began the stretch */
	struct hk_work_sample last; /* the last one */
	struct hk_usual usual;	    /* of long stretches */
};

/* The frames of a thread's stack, and which of its pages could be read before (stack/walk.h). */
#define HK_WALK_FRAMES 256u
#define HK_WALK_PAGES 256u /* of 4 KiB */
struct hk_thread_walk {
	uint64_t first_page; /* number of the window's first page */
	uint64_t readable[HK_WALK_PAGES / 64];
	uint64_t owner; /* address of the call that is taking its stack; 0: none */
	uint64_t hash;	/* of the frames and why they end */
	uint32_t count;
	uint32_t end;	  /* enum hk_walk_end */
	uint64_t start;	  /* stack pointer of the innermost frame */
	bool interrupted; /* a signal interrupted one of the functions */
	uint64_t address[HK_WALK_FRAMES];
	uint64_t frame_end[HK_WALK_FRAMES]; /* where the frame of the caller begins */
};

struct hk_launches;

struct hk_thread {
	/* -- wiped by a fork -- */
	uint32_t
	    ready; /* 1: in use; 0: not yet, forked, or closed while foreign code runs for us */
	volatile uint32_t busy;	  /* 0, or 1 + depth of the call whose record is being written */
	uint64_t inner;		  /* frame of the innermost open call, ~0: none, 0: not ready */
	uint32_t generation_seen; /* 0: none, the segment's is never that at first */
	int32_t countdown;	  /* calls to the next sample; not above 0 unless ready */
	char apart[HK_THREAD_APART -
		   HK_THREAD_WIPED]; /* of other threads, or unused: thread_pool.h */
	/* -- kept -- */
	uint64_t child_ns;
	uint64_t domains;
	struct hk_thread_slot *slot;
	const _Atomic uint32_t *generation; /* the segment's word */
	char *segment;			    /* base of the mapping */
	uint64_t tick_ns_scaled; /* nanoseconds per tick, times 2^(64 - HK_CLOCK_TICK_SHIFT) */
	char *kept, *kept_end;	 /* kept.h: behind the newest call, and the last one there is room
				    for; both NULL: no room at all */
	uint64_t long_from;	 /* ticks at which the stretch of work becomes a long one */
	uint32_t depth;		 /* open hooked calls */
	/* -- from here to `crowded`: not known to the assembly -- */
	volatile uint32_t nested_busy;
	uint32_t tid;
	uint32_t slot_number;
	uint32_t rounds; /* destructor rounds seen at thread exit */
	int32_t crowded; /* deeper calls to count before the next look for room */
	uint32_t turns;	 /* determines the distance to the next sample: layout.h */
	uint32_t reserved;
	struct hk_chain_end chain[HK_STREAMS];
	struct hk_thread *next_vacant;
	struct hk_cell *cells[HK_THUNKS]; /* by site id, NULL: none yet */
	struct hk_cell **spare_cells;	  /* by number of the spare thunk; NULL: none yet */
	/* Of plain sites, so many to a page; NULL: none yet. */
	struct hk_cell **plain_cells[HK_PLAIN_SITES / HK_PLAIN_CELLS];
	uint64_t asking; /* frame of the call about which a host's library is asked, 0: none */
	uint64_t uid;
	struct hk_work work;
	uint32_t range_depth;
	struct hk_range ranges[HK_RANGES];
	struct hk_thread *next;	      /* of all there ever were */
	struct hk_launches *launches; /* call/launches.h; NULL: none yet */
	uint64_t kept_none[2];	      /* no frame: read where nothing is kept */
	uint64_t kept_calls[HK_KEPT_CALLS][HK_KEPT_BYTES / 8];
	struct hk_thread_walk walk;
};

/* All of this process, the newest first. */
extern struct hk_thread *_Atomic hk_threads;

/* The state of threads without one: never ready, so that no call tests for NULL. Before a thread is
 * known to be ready, only the fields that a fork wipes are read. */
extern uint64_t hk_thread_none[HK_THREAD_WIPED / sizeof(uint64_t)];
#define HK_NO_THREAD ((struct hk_thread *)(void *)hk_thread_none)

extern __thread struct hk_thread *hk_thread_current __attribute__((tls_model("initial-exec")));

/* For each stream, the time in ticks up to which its pool counts as empty: records of calls that
 * began before are lost and counted, without a look for a page. 0: there may be a page. Read by
 * trampoline.S. */
extern uint64_t hk_thread_dry_until[HK_STREAMS];

/* This thread is about to call _exit(CODE). */
void hk_thread_may_end(int code);

/* Returns whether there was no room for a thread's state or a cell a moment ago: a new try makes no
 * sense yet. */
bool hk_thread_refused(void);

/* Notes that one was refused now. */
void hk_thread_refuse(void);

/* Forgets the parent's failures to find room. In a forked child, under the process lock. */
void hk_thread_forget_refusals(void);

/* A cell for SITE, or NULL. Slow. */
struct hk_cell *hk_thread_cell(struct hk_thread *thread, uint32_t site);

/* Offset of the octave's buckets, or 0. Slow. */
uint32_t hk_thread_octave(struct hk_cell *cell, uint32_t octave);

/* Continues chain STREAM in a new page. Returns false if no page is free. Slow. */
bool hk_thread_extend(struct hk_thread *thread, uint32_t stream);

#endif
