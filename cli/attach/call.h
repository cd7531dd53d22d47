/* call.h: calls functions on a held thread of another process, and restores it. Main thread only.
 *
 * The calls run on a stack of their own, with the thread's signals held back. All its registers are
 * as before afterwards, and a system call in which it was stopped continues. Other threads run on
 * meanwhile, so that a lock that one of them holds is released. If this process ends in the midst
 * of a call, the thread returns to where it was.
 */
#ifndef HK_CLI_ATTACH_CALL_H
#define HK_CLI_ATTACH_CALL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/attach/thread.h"

struct hk_remote;

/* Functions of the process, by their addresses there. */
struct hk_remote_functions {
	uint64_t map, protect, unmap; /* mmap, mprotect, munmap */
	uint64_t error;		      /* __errno_location */
	uint64_t restorer; /* the code behind a signal handler, which calls rt_sigreturn */
};

/* Returns the system call in which HELD is stopped, or -1: it was running. Returns -errno below -1
 * on failure. */
long hk_remote_system_call(const struct hk_held *held);

/* Prepares HELD for calls, which takes as much of its stack as a signal. Returns 0, -EAGAIN if the
 * stack has no room now, or -errno, and then the thread is as it was. */
int hk_remote_begin(const struct hk_held *held, pid_t pid,
		    const struct hk_remote_functions *functions, struct hk_remote **ret_remote);

/* Copies BYTES of DATA into the process. Returns their address there, or 0 if there is no room. */
uint64_t hk_remote_put(struct hk_remote *remote, const void *data, size_t bytes);

/* Reads BYTES at ADDRESS. Returns 0 or -errno. */
int hk_remote_get(const struct hk_remote *remote, uint64_t address, void *data, size_t bytes);

/* Calls the function at ADDRESS. Waits for its end for as long as it takes; WAITING is called every
 * few seconds. Returns 0 with its result, or -errno: -EFAULT if it crashed. */
int hk_remote_call(struct hk_remote *remote, uint64_t address, const uint64_t arguments[3],
		   void (*waiting)(void), uint64_t *ret_result);

/* Restores the thread and its errno. It still has to be let go. */
void hk_remote_end(struct hk_remote *remote);

#endif
