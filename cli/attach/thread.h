/* thread.h: holds a thread of another process by ptrace. Main thread only.
 *
 * Whatever ends this process, the kernel lets the thread run on.
 */
#ifndef HK_CLI_ATTACH_THREAD_H
#define HK_CLI_ATTACH_THREAD_H

#include <stddef.h>
#include <sys/types.h>

struct hk_held {
	pid_t tid;
	int signal; /* that it was about to get, or 0 */
};

/* Stops thread TID. Returns 0, or -EAGAIN if it cannot be used now, because it ended or is about to
 * get a signal; it then runs on. Returns -EBUSY if its process was stopped by a signal, -ETIMEDOUT
 * if it does not stop, or -errno of ptrace. */
int hk_thread_hold(pid_t tid, struct hk_held *ret_held);

/* Lets it run on, as if it had never stopped. */
void hk_thread_let_go(const struct hk_held *held);

/* Lists the threads of PID, those that run first. *RET_TIDS is freed by the caller. Returns their
 * number, or -errno. */
ssize_t hk_thread_list(pid_t pid, pid_t **ret_tids);

/* Waits until TID, which was continued, stops. Returns its wait status, -ETIMEDOUT after MS
 * milliseconds, or -ESRCH if it has ended. */
int hk_thread_await(pid_t tid, int ms);

#endif
