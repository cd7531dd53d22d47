#include "cli/target/run_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static int spawn(const char *const *arguments, char *const *environment, int output, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error) {
		return -error;
	}
	error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	error = error ? error : posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	error = error ? error : posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
	error = error ? error
		      : posix_spawnp(ret_pid, arguments[0], &actions, NULL,
				     (char *const *)arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

/* Reads INPUT to its end. What does not fit into TEXT is dropped, so that the writer never blocks.
 * Returns 0 or -ETIMEDOUT. */
static int read_all(int input, uint64_t deadline_ns, char *text, size_t size)
{
	size_t used = 0;

	for (;;) {
		struct pollfd watched = {.fd = input, .events = POLLIN};
		uint64_t now_ns = hk_clock_monotonic_ns();
		char rest[4096];
		ssize_t got;

		if (now_ns >= deadline_ns ||
		    poll(&watched, 1, (int)((deadline_ns - now_ns) / 1000000) + 1) == 0) {
			return -ETIMEDOUT;
		}
		got = read(input, rest, sizeof(rest));
		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got <= 0) {
			return 0;
		}
		for (ssize_t i = 0; i < got && used + 1 < size; i++) {
			text[used++] = rest[i];
		}
		text[used] = '\0';
	}
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			return -errno;
		}
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int hk_capture(const char *const *arguments, char *const *environment, int timeout_ms, char *text,
	       size_t size)
{
	uint64_t deadline_ns = hk_clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000;
	int ends[2], rc, status;
	pid_t pid;

	text[0] = '\0';
	if (pipe2(ends, O_CLOEXEC) < 0) {
		return -errno;
	}
	rc = spawn(arguments, environment, ends[1], &pid);
	close(ends[1]);
	if (rc == 0) {
		rc = read_all(ends[0], deadline_ns, text, size);
		if (rc < 0) {
			kill(pid, SIGKILL);
		}
		status = wait_for(pid);
		rc = rc < 0 ? rc : status;
	}
	close(ends[0]);
	return rc;
}
