/* command_process.h: runs the traced command as a child of hookcli: starts it later than it forks
 * it, forwards every signal, and waits for it.
 *
 * hookcli stays in the command's process group, so a terminal's signals reach both. Signals sent to
 * hookcli alone are forwarded. Signals stay blocked in hookcli from start to exit. One child per
 * process; main thread only.
 */
#ifndef HK_CLI_RUN_COMMAND_PROCESS_H
#define HK_CLI_RUN_COMMAND_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct hk_command_process {
	pid_t pid;
	int go_fd;	   /* a byte starts the program */
	int error_fd;	   /* errno if it could not be executed */
	sigset_t signals;  /* blocked signals */
	sigset_t before;   /* mask of the command */
	bool asked_to_end; /* a signal asked it to end */
};

/* Forks a child that executes `program` with `arguments` and `environment` after
 * hk_command_process_start. With `die_with_us` the child gets SIGKILL when hookcli is killed.
 * Returns 0, or -errno of fork or pipe. */
int hk_command_process_prepare(struct hk_command_process *child, const char *program,
			       char *const *arguments, char *const *environment, bool die_with_us);

/* Lets the child execute its program. Returns 0, or -errno of its execve: the child has then ended.
 */
int hk_command_process_start(struct hk_command_process *child);

/* Ends a child that was not started, and restores the signal mask. Another child may then be
 * prepared. */
void hk_command_process_cancel(struct hk_command_process *child);

struct hk_command_process_end {
	bool signaled;
	int code; /* exit status or signal number */
};

/* A function to call while the child runs: once a second, and when any child of hookcli has ended.
 */
struct hk_command_process_watch {
	void (*poll)(void *context);
	void *context;
};

/* Forwards signals until the child ends, and calls `watch` unless it is NULL. Returns 0 or -errno.
 */
int hk_command_process_wait(struct hk_command_process *child,
			    const struct hk_command_process_watch *watch,
			    struct hk_command_process_end *ret_end);

/* Sleeps up to `milliseconds`. Returns true if a signal asked hookcli to end meanwhile. */
bool hk_command_process_interrupted(const struct hk_command_process *child, int milliseconds);

#endif
