/* command_process.h: the traced command as a child of hookcli: started when told to, given every
 * signal, waited for.
 *
 * hookcli stays in the command's process group, so a terminal's own signals reach both; those sent
 * to hookcli alone are passed on. Signals stay blocked in hookcli from start to exit. One child per
 * process; main thread only.
 */
#ifndef HK_CLI_RUN_COMMAND_PROCESS_H
#define HK_CLI_RUN_COMMAND_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct hk_child {
	pid_t pid;
	int go_fd;	  /* a byte lets it run */
	int error_fd;	  /* errno if it could not be executed */
	sigset_t signals; /* that are blocked */
	sigset_t before;  /* the mask that the command gets */
	bool told;	  /* by a signal, to end */
};

/* Forks a child that will execute `program` with `arguments` and `environment` once it is let go;
 * `die_with_us`: SIGKILL for it when hookcli is killed. -errno of fork or pipe. */
int hk_child_prepare(struct hk_child *child, const char *program, char *const *arguments,
		     char *const *environment, bool die_with_us);

/* Lets it run. 0, or -errno of its execve, after which it is gone. */
int hk_child_start(struct hk_child *child);

/* Ends a child that was never started, and restores the signal mask: another may be prepared. */
void hk_child_cancel(struct hk_child *child);

struct hk_child_end {
	bool signaled;
	int code; /* exit status or signal number */
};

/* Something to look after meanwhile: once a second, and when any child of hookcli has ended. */
struct hk_child_watch {
	void (*look)(void *context);
	void *context;
};

/* Passes signals on until the child ends; `watch`: NULL for nothing. 0 or -errno. */
int hk_child_wait(struct hk_child *child, const struct hk_child_watch *watch,
		  struct hk_child_end *ret_end);

/* Sleeps up to `milliseconds`; true if a signal asked hookcli to end meanwhile. */
bool hk_child_interrupted(const struct hk_child *child, int milliseconds);

#endif
