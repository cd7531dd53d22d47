#include "cli/attach/thread.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"

#define STOP_MS 30000 /* on a machine on which a thread waits long for a processor */
#define POLL_NS 20000
#define MS_NS UINT64_C(1000000)

int hk_thread_await(pid_t tid, int ms)
{
	const struct timespec pause = {0, POLL_NS};
	uint64_t end = hk_clock_monotonic_ns() + (uint64_t)ms * MS_NS;
	int status;

	for (;;) {
		pid_t waited = waitpid(tid, &status, __WALL | WNOHANG);
		if (waited == tid) {
			return WIFSTOPPED(status) ? status : -ESRCH;
		}
		if (waited < 0 && errno != EINTR) {
			return -ESRCH;
		}
		if (hk_clock_monotonic_ns() > end) {
			return -ETIMEDOUT;
		}
		nanosleep(&pause, NULL);
	}
}

void hk_thread_let_go(const struct hk_held *held)
{
	ptrace(PTRACE_DETACH, held->tid, NULL, (long)held->signal);
}

static bool is_stopping(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

int hk_thread_hold(pid_t tid, struct hk_held *ret_held)
{
	struct hk_held held = {.tid = tid};

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0) {
		return errno == ESRCH ? -EAGAIN : -errno;
	}
	int status =
	    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 ? -ESRCH : hk_thread_await(tid, STOP_MS);
	if (status == -ETIMEDOUT) {
		return -ETIMEDOUT; /* the kernel lets it go when this process ends */
	}
	if (status < 0) {
		return -EAGAIN;
	}
	bool of_ptrace = status >> 16 == PTRACE_EVENT_STOP;
	if (of_ptrace && is_stopping(WSTOPSIG(status))) {
		hk_thread_let_go(&held);
		return -EBUSY;
	}
	if (!of_ptrace) {
		held.signal = WSTOPSIG(status);
		hk_thread_let_go(&held);
		return -EAGAIN;
	}
	*ret_held = held;
	return 0;
}

/* ---- all of a process ---- */

static char state_of(pid_t pid, pid_t tid)
{
	char path[80], text[512];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	FILE *file = fopen(path, "re");
	if (!file) {
		return 'X';
	}
	size_t got = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[got] = '\0';
	const char *end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 'X';
}

/* Moves the threads that run to the front: a stop of the others may end a system call of theirs.
 * Leaves out those that no signal reaches. Returns how many are left. */
static size_t sort(pid_t pid, pid_t *tids, size_t count)
{
	size_t running = 0, kept = 0;

	for (size_t i = 0; i < count; i++) {
		char state = state_of(pid, tids[i]);
		pid_t tid = tids[i];
		if (state == 'D' || state == 'X' || state == 'Z') {
			continue;
		}
		tids[kept] = tid;
		if (state == 'R') {
			tids[kept] = tids[running];
			tids[running++] = tid;
		}
		kept++;
	}
	return kept;
}

ssize_t hk_thread_list(pid_t pid, pid_t **ret_tids)
{
	char path[64];
	struct dirent *entry;
	pid_t *tids = NULL;
	size_t count = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *directory = opendir(path);
	if (!directory) {
		return -errno;
	}
	while ((entry = readdir(directory))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		pid_t *list = tid > 0 ? reallocarray(tids, count + 1, sizeof(*list)) : NULL;
		if (list) {
			tids = list;
			tids[count++] = tid;
		}
	}
	closedir(directory);
	*ret_tids = tids;
	return (ssize_t)sort(pid, tids, count);
}
