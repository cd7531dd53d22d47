#include "cli/run/command_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/signal_guard.h"
#include "cli/target/program.h"

#define NOT_EXECUTED 127
#define SHELL "/bin/sh"

/* Signals that are forwarded. SIGKILL and SIGSTOP cannot be, SIGTSTP and SIGCONT come from
 * terminals. */
static const int passed_on[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGUSR1,
				SIGUSR2, SIGALRM, SIGPIPE, SIGXCPU};

static void signals_block(struct hk_command_process *child, sigset_t *ret_before)
{
	sigemptyset(&child->signals);
	sigaddset(&child->signals, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
		sigaddset(&child->signals, passed_on[i]);
	}
	sigprocmask(SIG_BLOCK, &child->signals, ret_before);
}

struct execution {
	const char *program;
	char *const *arguments, *const *environment;
	char **by_shell; /* arguments of SHELL if `program` is text without a #! line, else NULL */
};

/* Runs in the child, and makes only system calls until execve. */
static void child_main(int go_fd, int error_fd, const struct execution *execution,
		       const sigset_t *mask, bool die_with_us, pid_t parent)
{
	char go;

	if (die_with_us) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) {
			_exit(NOT_EXECUTED);
		}
	}
	if (read(go_fd, &go, 1) != 1) {
		_exit(NOT_EXECUTED);
	}
	sigprocmask(SIG_SETMASK, mask, NULL);
	hk_signal_guard_size_end();
	execve(execution->program, execution->arguments, execution->environment);
	if (errno == ENOEXEC && execution->by_shell) {
		execve(SHELL, execution->by_shell, execution->environment);
	}
	int error = errno;
	(void)!write(error_fd, &error, sizeof(error));
	_exit(NOT_EXECUTED);
}

/* Returns arguments by which SHELL runs PROGRAM, text that the kernel refuses: shells and execvp do
 * so too. Returns NULL for other programs, or without memory. */
static char **shell_arguments(const char *program, char *const *arguments)
{
	size_t count = 0;

	while (arguments[count]) {
		count++;
	}
	char **list = hk_program_is_text(program) ? calloc(count + 2, sizeof(*list)) : NULL;
	if (list) {
		list[0] = SHELL;
		list[1] = (char *)program;
		for (size_t i = 1; i < count; i++) {
			list[i + 1] = arguments[i];
		}
	}
	return list;
}

int hk_command_process_prepare(struct hk_command_process *child, const char *program,
			       char *const *arguments, char *const *environment, bool die_with_us)
{
	int go[2], error[2];
	pid_t parent = getpid();

	if (pipe2(go, O_CLOEXEC) < 0) {
		return -errno;
	}
	if (pipe2(error, O_CLOEXEC) < 0) {
		int r = -errno;
		close(go[0]);
		close(go[1]);
		return r;
	}
	child->asked_to_end = false;
	/* If SIGCHLD is ignored, which is inherited, the kernel discards the child's status. */
	signal(SIGCHLD, SIG_DFL);
	signals_block(child, &child->before);
	struct execution execution = {program, arguments, environment,
				      shell_arguments(program, arguments)};
	child->pid = fork();
	if (child->pid == 0) {
		close(go[1]);
		child_main(go[0], error[1], &execution, &child->before, die_with_us, parent);
	}
	int r = child->pid < 0 ? -errno : 0;
	free(execution.by_shell);
	close(go[0]);
	close(error[1]);
	child->go_fd = go[1];
	child->error_fd = error[0];
	if (r < 0) {
		close(go[1]);
		close(error[0]);
		sigprocmask(SIG_SETMASK, &child->before, NULL);
	}
	return r;
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
	}
}

int hk_command_process_start(struct hk_command_process *child)
{
	int error = 0;
	ssize_t got;

	(void)!write(child->go_fd, "g", 1);
	close(child->go_fd);
	/* The pipe closes when execve succeeds. */
	do {
		got = read(child->error_fd, &error, sizeof(error));
	} while (got < 0 && errno == EINTR);
	close(child->error_fd);
	if (got == sizeof(error)) {
		reap(child->pid);
		return -error;
	}
	return 0;
}

void hk_command_process_cancel(struct hk_command_process *child)
{
	close(child->go_fd);
	close(child->error_fd);
	reap(child->pid);
	sigprocmask(SIG_SETMASK, &child->before, NULL);
}

static bool asks_to_end(int number)
{
	return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
}

/* Returns 1 if the child has ended, 0 if it runs, or -errno. */
static int ended(const struct hk_command_process *child, struct hk_command_process_end *ret_end)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG) < 0) {
		return errno == EINTR ? 0 : -errno;
	}
	if (info.si_pid == 0) {
		return 0;
	}
	ret_end->signaled = info.si_code != CLD_EXITED;
	ret_end->code = info.si_status;
	return 1;
}

int hk_command_process_wait(struct hk_command_process *child,
			    const struct hk_command_process_watch *watch,
			    struct hk_command_process_end *ret_end)
{
	const struct timespec second = {1, 0};
	struct hk_command_process_end end;
	int r;

	while ((r = ended(child, &end)) == 0) {
		siginfo_t info;
		if (watch) {
			watch->poll(watch->context);
		}
		int number = sigtimedwait(&child->signals, &info, &second);
		if (number < 0 && errno != EINTR && errno != EAGAIN) {
			return -errno;
		}
		child->asked_to_end = child->asked_to_end || asks_to_end(number);
		/* A terminal sends its signals to the whole group, so the command has received them
		 * already. */
		if (number > 0 && number != SIGCHLD && info.si_code != SI_KERNEL) {
			kill(child->pid, number);
		}
	}
	if (r < 0) {
		return r;
	}
	*ret_end = end;
	return 0;
}

bool hk_command_process_interrupted(const struct hk_command_process *child, int milliseconds)
{
	struct timespec wait = {milliseconds / 1000, milliseconds % 1000 * 1000000L};

	return asks_to_end(sigtimedwait(&child->signals, NULL, &wait));
}
