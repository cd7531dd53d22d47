#include "cli/run/collector_start.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/job/collector_process.h"
#include "cli/run/shortage.h"

#define PROGRAM "hookcollector"
#define SAYS PROGRAM ": error: " /* begins the collector's error message */
#define READY_TIMEOUT_MS 20000
#define STILL_MS 2000
#define POLL_MS 100
#define MS_NS UINT64_C(1000000)
#define READY_FD 3
#define READY_FD_TEXT "3"
#define FREE_FD 16 /* above all descriptors that daemon_main uses */

#define ARGUMENTS_MAX 24

/* Files by which a leaf and its root authenticate, relative to hookcli's working directory. */
static const struct {
	const char *setting, *option;
} secrets[] = {
    {"token-file", "--token-file"}, {"credentials", "--credentials"}, {"tls-ca", "--tls-ca"},
    {"tls-cert", "--tls-cert"},	    {"tls-key", "--tls-key"},
};
#define SECRETS (sizeof(secrets) / sizeof(secrets[0]))

struct secret_paths {
	char paths[SECRETS][PATH_MAX];
};

/* Adds these files to ARGUMENTS as absolute paths, because the collector has another working
 * directory. Returns the number of words. */
static size_t add_secrets(struct secret_paths *secret, char **arguments)
{
	size_t count = 0;

	for (size_t i = 0; i < SECRETS; i++) {
		const char *path = hk_command_setting(secrets[i].setting);
		if (!path) {
			continue;
		}
		if (!realpath(path, secret->paths[i])) {
			snprintf(secret->paths[i], PATH_MAX, "%s", path);
		}
		arguments[count++] = (char *)secrets[i].option;
		arguments[count++] = secret->paths[i];
	}
	return count;
}

/* Fills the arguments of the collector: JOB is "ID=DIRECTORY", STORE the parent of that
 * directory. */
static void arguments_fill(const char *program, const char *job, const char *store,
			   const struct hk_collector_start_options *options,
			   struct secret_paths *secret, char *arguments[ARGUMENTS_MAX])
{
	const char *const fixed[] = {program, "--store",    store,	   "--job-dir",
				     job,     "--ready-fd", READY_FD_TEXT, "--exit-with-job"};
	size_t count = 0;

	for (; count < sizeof(fixed) / sizeof(fixed[0]); count++) {
		arguments[count] = (char *)fixed[count];
	}
	if (options->per_node) {
		arguments[count++] = (char *)"--per-node";
	}
	if (options->upstream) {
		arguments[count++] = (char *)"--upstream";
		arguments[count++] = (char *)options->upstream;
		count += add_secrets(secret, arguments + count);
	}
	if (options->keep) {
		arguments[count++] = (char *)"--keep";
		arguments[count++] = (char *)options->keep;
	}
	arguments[count] = NULL;
}

/* Runs in the child: executes the collector in a session of its own, without a terminal or files of
 * the job. */
static void daemon_main(const char *run_directory, char *const *arguments, int log_fd, int ready_fd)
{
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int number = 1; number < NSIG; number++) {
		signal(number, SIG_DFL);
	}
	/* Copies the descriptors above 0..3 first, so that no dup2 overwrites what a later one
	 * copies. */
	log_fd = fcntl(log_fd, F_DUPFD_CLOEXEC, FREE_FD);
	ready_fd = fcntl(ready_fd, F_DUPFD_CLOEXEC, FREE_FD);
	null = fcntl(null, F_DUPFD_CLOEXEC, FREE_FD);
	if (dup2(null, 0) < 0 || dup2(log_fd, 1) < 0 || dup2(log_fd, 2) < 0 ||
	    dup2(ready_fd, READY_FD) < 0) {
		_exit(127);
	}
	close_range(READY_FD + 1, ~0u, 0);
	(void)!chdir("/");
	setenv("HOOK_RUN_DIR", run_directory, 1);
	unsetenv("LD_PRELOAD");
	execv(arguments[0], arguments);
	_exit(127);
}

/* Returns whether process PID sleeps or is stopped. Sets *ret_ran to the processor time it has
 * used. */
static bool is_asleep(pid_t pid, uint64_t *ret_ran)
{
	char path[64], state = 'R';
	uint64_t user = 0, system = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file) {
		return false;
	}
	(void)!fscanf(
	    file, "%*d (%*[^)]) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
	    &state, &user, &system);
	fclose(file);
	*ret_ran = user + system;
	return state == 'S' || state == 'T';
}

/* Waits for one byte of FD. Returns 1, 0 after a timeout, or -ECHILD if FD is closed. The timeout
 * is STILL_MS for a process that only sleeps: such a process is stuck. */
static int await_byte(int fd, pid_t pid)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	const uint64_t end = hk_clock_monotonic_ns() + READY_TIMEOUT_MS * MS_NS;
	uint64_t still_since = hk_clock_monotonic_ns(), had = 0, ran = 0;
	char byte;

	for (;;) {
		int r = poll(&wait, 1, POLL_MS);
		if (r > 0) {
			return read(fd, &byte, 1) == 1 ? 1 : -ECHILD;
		}
		uint64_t now = hk_clock_monotonic_ns();
		if (!is_asleep(pid, &ran) || ran != had) {
			still_since = now;
		}
		had = ran;
		if (now >= end || now - still_since >= STILL_MS * MS_NS) {
			return 0;
		}
	}
}

/* Waits until the collector is ready. Returns 0, or -errno after the collector has ended, with its
 * *RET_STATUS. */
static int await_ready(int fd, pid_t pid, int *ret_status)
{
	int r = await_byte(fd, pid);

	if (r > 0) {
		return 0;
	}
	if (r == 0) {
		/* The collector handles no other signal before it is ready. */
		kill(pid, SIGKILL);
	}
	while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR) {
	}
	return r == 0 ? -ETIMEDOUT : r;
}

/* Returns the last line of the log without the program's name, in TEXT; "" if the log is empty. */
static const char *last_words(int log_fd, char *text, size_t size)
{
	off_t end = lseek(log_fd, 0, SEEK_END);
	off_t from = end > (off_t)size - 1 ? end - ((off_t)size - 1) : 0;
	ssize_t got = pread(log_fd, text, size - 1, from);

	got = got > 0 ? got : 0;
	while (got > 0 && text[got - 1] == '\n') {
		got--;
	}
	text[got] = '\0';
	const char *last = strrchr(text, '\n');
	last = last ? last + 1 : text;
	return strncmp(last, SAYS, strlen(SAYS)) == 0 ? last + strlen(SAYS) : last;
}

static void explain(int log_fd, int error, int status, char why[HK_COLLECTOR_WHY_BYTES])
{
	char text[512] = "", limit[HK_SHORTAGE_BYTES];
	const char *words = last_words(log_fd, text, sizeof(text));

	hk_shortage_explain(limit);
	if (error == -ETIMEDOUT) {
		words = "it does not answer";
	} else if (error != -ECHILD) {
		words = strerror(-error);
	} else if (!*words && WIFSIGNALED(status)) {
		snprintf(text, sizeof(text), "it died of signal %d", WTERMSIG(status));
		words = text;
	} else if (!*words) {
		snprintf(text, sizeof(text), "it ended with status %d", WEXITSTATUS(status));
		words = text;
	}
	snprintf(why, HK_COLLECTOR_WHY_BYTES, PROGRAM " does not start: %s%s%s%s", words,
		 *limit ? " (" : "", limit, *limit ? ")" : "");
}

int hk_collector_start(const char *run_directory, int dirfd,
		       const struct hk_collector_start_options *options,
		       char why[HK_COLLECTOR_WHY_BYTES])
{
	char program[PATH_MAX], job[PATH_MAX + 256], store[PATH_MAX], *arguments[ARGUMENTS_MAX];
	struct secret_paths secret;
	int ready[2], status = 0;

	if (hk_collector_find(program) < 0) {
		snprintf(why, HK_COLLECTOR_WHY_BYTES,
			 PROGRAM " is not beside hookcli: install both again");
		return -ENOENT;
	}
	snprintf(job, sizeof(job), "%s=%s", options->id, options->directory);
	snprintf(store, sizeof(store), "%s", options->directory);
	*strrchr(store, '/') = '\0';
	arguments_fill(program, job, *store ? store : "/", options, &secret, arguments);
	int log_fd = openat(dirfd, HK_COLLECTOR_START_LOG,
			    O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (log_fd < 0 || pipe2(ready, O_CLOEXEC) < 0) {
		int r = -errno;
		char limit[HK_SHORTAGE_BYTES];
		hk_shortage_explain(limit);
		snprintf(why, HK_COLLECTOR_WHY_BYTES, "cannot start " PROGRAM " in %s: %s (%s)",
			 run_directory, strerror(-r), *limit ? limit : "set HOOK_RUN_DIR");
		if (log_fd >= 0) {
			close(log_fd);
		}
		return r;
	}
	pid_t pid = fork();
	if (pid == 0) {
		daemon_main(run_directory, arguments, log_fd, ready[1]);
	}
	int r = pid < 0 ? -errno : 0;
	close(ready[1]);
	r = r < 0 ? r : await_ready(ready[0], pid, &status);
	close(ready[0]);
	if (r < 0) {
		explain(log_fd, r, status, why);
	}
	close(log_fd);
	return r;
}
