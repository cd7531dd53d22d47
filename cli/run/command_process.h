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

struct hk_command_process {
	pid_t pid;
	int go_fd;	  /* a byte lets it run */
	int error_fd;	  /* errno if it could not be executed */
	sigset_t signals; /* that are blocked */
	sigset_t before;  /* the mask that the command gets */
	bool told;	  /* a signal asked it to end */
};

/* Forks a child that will execute `program` with `arguments` and `environment` once it is let go;
 * `die_with_us`: SIGKILL for it when hookcli is killed. -errno of fork or pipe. */
int hk_command_process_prepare(struct hk_command_process *child, const char *program,
			       char *const *arguments, char *const *environment, bool die_with_us);

/* Lets it run. 0, or -errno of its execve, after which it is gone. */
int hk_command_process_start(struct hk_command_process *child);

/* Ends a child that was never started, and restores the signal mask: another may be prepared. */
void hk_command_process_cancel(struct hk_command_process *child);

struct hk_command_process_end {
	bool signaled;
	int code; /* exit status or signal number */
};

/* Something to look after meanwhile: once a second, and when any child of hookcli has ended. */
struct hk_command_process_watch {
	void (*look)(void *context);
	void *context;
};

/* Passes signals on until the child ends; `watch`: NULL for nothing. 0 or -errno. */
int hk_command_process_wait(struct hk_command_process *child,
			    const struct hk_command_process_watch *watch,
			    struct hk_command_process_end *ret_end);

/* Sleeps up to `milliseconds`; true if a signal asked hookcli to end meanwhile. */
bool hk_command_process_interrupted(const struct hk_command_process *child, int milliseconds);

#endif
