/* process.h: the process's segment, the agent's one lock, and what a fork does to both.
 *
 * The lock word lives on a page that fork wipes, so a child never inherits it held; the same page
 * tells the child that it is one. Holders are never interrupted by a second attempt of the same
 * thread: the slow path is gated (hk_in_agent).
 */
#ifndef HK_AGENT_RECORD_PROCESS_H
#define HK_AGENT_RECORD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/writer.h"

struct hk_process {
	struct hk_writer writer; /* guarded by the lock */
	uint64_t tick_ns_q32;
	bool tsc;
	bool sealed;   /* no system call of ours any more: sandbox.h */
	bool timeless; /* nor any clock: all instants are 0 */
	bool locks;    /* every new mapping is locked: mlockall(MCL_FUTURE) */
	uint64_t
	    wait_ns; /* HOOK_ON_FULL=wait:MS: longest wait for a page before a record is dropped */
	bool used;   /* a hooked call was made: sites, cells and pages may be taken */
	bool on;     /* a segment exists and sites may be counted */
	uint32_t uids;	      /* thread uids handed out */
	uint64_t unblocked;   /* signals that the agent need not block: their handler is its own */
	const void *ended_by; /* hk_process_may_end: NULL: none */
	struct hk_untraced *untraced; /* entry of this process, if it got no segment */
	int refused; /* -errno why it, or a process that it was forked from, got no segment; 0: it
			has one */
	uint64_t began_ns; /* monotonic: when the image's agent began; 0: with its segment */
};

extern struct hk_process hk_process;

/* 1 while the agent itself runs on this thread, 2 while it runs foreign code: hooked calls then
 * pass through. */
extern __thread uint32_t hk_in_agent __attribute__((tls_model("initial-exec")));

/* Before hk_process_start: adds TEXT, if it is not empty, to what this image and those forked from
 * it have to say for themselves. What does not fit is cut. */
void hk_process_add_note(const char *text);

/* Creates the segment from the identity in ENVIRONMENT, which must stay. Returns 0, or -errno with
 * the reason for people in REASON. */
int hk_process_start(int argc, char **argv, char *const *environment, const char *hooks,
		     uint8_t level, char reason[256]);

/* Returns true in a child that has no segment of its own yet. */
bool hk_process_forked(void);

/* In a forked child: wipes again what the kernel should have wiped. */
void hk_process_wipe(void);

/* Gives the child its own segment. Under the lock. */
int hk_process_renew(void);

/* Returns false if the run directory can be opened, no collector serves it, and the segment need
 * not stay without one. */
bool hk_process_is_read(void);

/* Waits for the lock. Returns false if no thread got it for a second. */
bool hk_process_lock(void);

/* Takes the lock without waiting. Returns false if it was not free at any of TRIES: also if this
 * thread holds it, and a signal interrupted it. */
bool hk_process_try_lock(uint32_t tries);
void hk_process_unlock(void);

/* From here on the agent makes no system call. This is the last one, which wakes threads that wait
 * for the lock. */
void hk_process_seal(void);

/* Blocks this thread's signals, whose handlers may jump away from a section that must complete.
 * Returns the mask to restore. */
uint64_t hk_process_block_signals(void);
void hk_process_restore_signals(uint64_t mask);

/* Marks the segment as ended with exit status CODE; removes its file if no collector ever read it
 * and no collector runs now. */
void hk_process_end(int code);

/* Closes the segment of a process that runs on. Under the process lock. The mapping stays, because
 * calls that began before may still write to it. */
void hk_process_detach(void);

/* As hk_process_end, for _exit on thread BY. In a sealed process, which cannot ask for its pid, it
 * may be a vfork child's _exit in its parent's memory. */
void hk_process_may_end(int code, const void *by);

/* Thread BY still runs: the process that ended was another one. */
void hk_process_go_on(const void *by);

/* Publishes the patcher's counts so far. A forked child's segment starts with them. */
void hk_process_cover(const struct hk_coverage *coverage);

/* Now, on the clock of the segment. */
uint64_t hk_process_ticks(void);

/* A call or record that found no place. */
void hk_process_untracked(void);

#endif
