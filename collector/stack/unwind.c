#include "collector/stack/unwind.h"

#include <errno.h>
#include <inttypes.h>
#include <libunwind-ptrace.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/proc/tasks.h"

#define LOOK_NS 500000 /* between two looks at a thread that is to stop */
#define LOOKS 600u
#define YAMA "/proc/sys/kernel/yama/ptrace_scope"

/* Numbers of enum hk_walk_end. */
#define END_WHOLE 0
#define END_DEEP 1
#define END_UNKNOWN 2

struct stack {
	uint64_t address[HK_UNWIND_FRAMES];
	size_t count;
	int end;
};

/* ---- reasons ---- */

static long number_in(const char *path)
{
	FILE *file = fopen(path, "re");
	long number = 0;

	if (file) {
		if (fscanf(file, "%ld", &number) != 1) {
			number = 0;
		}
		fclose(file);
	}
	return number;
}

static void say_why(pid_t pid, pid_t tid, int error)
{
	struct hk_task task;
	bool known = hk_task_read((uint32_t)pid, (uint32_t)tid, 0, &task) == 0;
	long scope = number_in(YAMA);

	if (error == ESRCH || !known) {
		printf("%d not has ended\n", tid);
	} else if (task.tracer != 0) {
		printf("%d not traced by process %" PRIu32 " already (a debugger; detach it)\n",
		       tid, task.tracer);
	} else if (error == EPERM && scope > 0) {
		printf("%d not ptrace is restricted (sysctl kernel.yama.ptrace_scope=0, or give "
		       "hookcollector CAP_SYS_PTRACE; it is %ld)\n",
		       tid, scope);
	} else if (error == EPERM) {
		printf(
		    "%d not ptrace is not permitted (run hookcollector as the user of the job, in "
		    "its container, with CAP_SYS_PTRACE if its program is set-user-ID)\n",
		    tid);
	} else {
		printf("%d not ptrace failed: %s\n", tid, strerror(error));
	}
}

/* ---- one thread ---- */

/* Waits until thread TID has stopped. Returns its wait status, 0 if it does not stop, or -errno. */
static int await_stop(pid_t tid)
{
	const struct timespec pause = {0, LOOK_NS};
	int status;

	for (unsigned i = 0; i < LOOKS; i++) {
		pid_t waited = waitpid(tid, &status, __WALL | WNOHANG);
		if (waited < 0) {
			return -errno;
		}
		if (waited == tid) {
			return WIFSTOPPED(status) ? status : -ESRCH;
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

static void walk(unw_addr_space_t space, pid_t tid, struct stack *stack)
{
	void *accessor = _UPT_create(tid);
	unw_cursor_t cursor;
	int r = accessor ? unw_init_remote(&cursor, space, accessor) : -UNW_ENOINFO;

	stack->count = 0;
	stack->end = r < 0 ? END_UNKNOWN : END_WHOLE;
	bool exact = true;
	for (r = r < 0 ? 0 : 1; r > 0; r = unw_step(&cursor)) {
		unw_word_t pc = 0;
		if (unw_get_reg(&cursor, UNW_REG_IP, &pc) < 0 || pc == 0) {
			break;
		}
		if (stack->count == HK_UNWIND_FRAMES) {
			stack->end = END_DEEP;
			break;
		}
		/* A return address lies behind its call, except for that of a signal's frame. */
		stack->address[stack->count++] = exact ? pc : pc - 1;
		exact = unw_is_signal_frame(&cursor) > 0;
	}
	if (r < 0) {
		stack->end = END_UNKNOWN;
	}
	if (accessor) {
		_UPT_destroy(accessor);
	}
}

static void print(pid_t tid, const struct stack *stack)
{
	printf("%d end %d", tid, stack->end);
	for (size_t i = 0; i < stack->count; i++) {
		printf(" %" PRIx64, stack->address[i]);
	}
	putchar('\n');
}

/* Lets the thread run on. If it was about to get a signal, it gets it. */
static void let_go(pid_t tid, int status)
{
	bool of_ptrace = status >> 16 == PTRACE_EVENT_STOP;

	ptrace(PTRACE_DETACH, tid, NULL, of_ptrace ? 0L : (long)WSTOPSIG(status));
}

static void unwind(unw_addr_space_t space, pid_t pid, pid_t tid)
{
	static struct stack stack;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0) {
		say_why(pid, tid, errno);
		return;
	}
	int status = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 ? -errno : await_stop(tid);
	if (status == 0) {
		printf("%d not does not stop: in the kernel, uninterruptible\n", tid);
	} else if (status < 0) {
		say_why(pid, tid, -status);
	} else {
		walk(space, tid, &stack);
		let_go(tid, status);
		print(tid, &stack);
	}
}

static pid_t id_of(const char *text)
{
	return (pid_t)strtol(text, NULL, 10);
}

int hk_unwind_main(int argc, char **argv)
{
	pid_t parent = getppid(), pid = argc > 1 ? id_of(argv[1]) : 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pid <= 0 || argc < 3 || getppid() != parent) {
		fprintf(stderr, "usage: %s PID TID...\n", argv[0]);
		return 2;
	}
	alarm(HK_UNWIND_S);
	unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
	if (!space) {
		return 1;
	}
	for (int i = 2; i < argc; i++) {
		unwind(space, pid, id_of(argv[i]));
		fflush(stdout);
	}
	unw_destroy_addr_space(space);
	return ferror(stdout) ? 1 : 0;
}
