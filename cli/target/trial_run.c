#include "cli/target/trial_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/job/job_files.h"
#include "cli/job/job_open.h"
#include "report/build/build.h"

#define JOB "doctor"
#define RUN_FAILED 125 /* up to 127: the command did not start; `run` printed the reason */
#define NOT_FOUND 127

/* Removes STORE: its only job, and the links to it. */
static void remove_store(const char *store)
{
	char path[PATH_MAX];
	DIR *directory = opendir(store);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		struct stat status;

		if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISLNK(status.st_mode)) {
			unlinkat(dirfd(directory), entry->d_name, 0);
		}
	}
	if (directory) {
		closedir(directory);
	}
	snprintf(path, sizeof(path), "%s/" JOB, store);
	hk_job_files_remove(path);
	rmdir(store);
}

static int run_command(char *const *command, const char *store, int *ret_status)
{
	char *head[] = {"hookcli", "run",	  "--hooks", (char *)hk_command_setting("hooks"),
			"--level", "count",	  "--job",   JOB,
			"--store", (char *)store, "--quiet", "--"};
	size_t fixed = sizeof(head) / sizeof(head[0]), count = 0;
	char **arguments;
	int status, error;
	pid_t pid;

	while (command[count]) {
		count++;
	}
	arguments = calloc(fixed + count + 1, sizeof(*arguments));
	if (!arguments) {
		return -ENOMEM;
	}
	memcpy(arguments, head, sizeof(head));
	memcpy(arguments + fixed, command, count * sizeof(*arguments));
	error = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ);
	free(arguments);
	if (error) {
		return -error;
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			return -errno;
		}
	}
	*ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return 0;
}

static int read_report(const char *store, int status, struct hk_report **ret_report)
{
	char path[PATH_MAX];
	struct hk_job job;
	int rc;

	snprintf(path, sizeof(path), "%s/" JOB, store);
	if (access(path, F_OK) < 0) {
		return status >= RUN_FAILED && status <= NOT_FOUND ? -ECHILD : -errno;
	}
	if (hk_job_open(path, &job) != HK_EXIT_DONE) {
		return -ECHILD;
	}
	rc = hk_report_new(job.snapshot, ret_report);
	hk_job_close(&job);
	return rc;
}

int hk_trial_run(char *const *command, int *ret_status, struct hk_report **ret_report)
{
	const char *temporary = getenv("TMPDIR");
	char store[PATH_MAX - 64];
	int rc, status = 0;

	if (snprintf(store, sizeof(store), "%s/hooktrace-doctor-XXXXXX",
		     temporary && *temporary ? temporary : "/tmp") >= (int)sizeof(store)) {
		return -ENAMETOOLONG;
	}
	if (!mkdtemp(store)) {
		return -errno;
	}
	rc = run_command(command, store, &status);
	if (rc == 0) {
		rc = read_report(store, status, ret_report);
	}
	remove_store(store);
	if (rc == 0) {
		*ret_status = status;
	}
	return rc;
}
