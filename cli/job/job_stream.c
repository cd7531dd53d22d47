#include "cli/job/job_stream.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/job/collector_process.h"
#include "cli/job/job_summary.h"

#define SCHEME "nats://"
#define ARGUMENTS_MAX 24
#define DEPTH 16

static char made[PATH_MAX]; /* "": none */

bool hk_job_stream_is(const char *name)
{
	return strncmp(name, SCHEME, strlen(SCHEME)) == 0 ||
	       strncmp(name, "tls+" SCHEME, strlen("tls+" SCHEME)) == 0;
}

/* ---- the directory ---- */

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status;
	(void)kind;
	(void)place;
	return remove(path);
}

static void remove_made(void)
{
	if (*made) {
		nftw(made, remove_entry, DEPTH, FTW_DEPTH | FTW_PHYS);
	}
}

/* Starts a process that removes the directory when this one ends, however it does. */
static int start_remover(void)
{
	int life[2];
	if (pipe2(life, O_CLOEXEC) < 0) {
		return -errno;
	}
	pid_t pid = fork();
	if (pid == 0) {
		char byte;
		setsid(); /* not the terminal's signals */
		close(life[1]);
		while (read(life[0], &byte, 1) < 0 && errno == EINTR) {
		}
		remove_made();
		_exit(0);
	}
	close(life[0]);
	return pid < 0 ? -errno : 0; /* the other end stays open as long as this process lives */
}

static int make_directory(void)
{
	const char *base = getenv("TMPDIR");
	if (snprintf(made, sizeof(made), "%s/hooktrace-XXXXXX", base && *base ? base : "/tmp") >=
		PATH_MAX ||
	    !mkdtemp(made)) {
		hk_error("no place for the job: %s: %s", made, strerror(errno));
		*made = '\0';
		return HK_EXIT_FAILED;
	}
	int r = start_remover();
	if (r < 0) {
		remove_made();
		hk_error("cannot start a process: %s", strerror(-r));
		return HK_EXIT_FAILED;
	}
	return HK_EXIT_DONE;
}

/* ---- reading ---- */

/* Fills the arguments of the collector. The files of secrets are those of the settings. */
static void fill_arguments(const char *program, const char *url, const char *job,
			   const char *arguments[ARGUMENTS_MAX])
{
	static const char *const secrets[][2] = {{"credentials", "--credentials"},
						 {"tls-ca", "--tls-ca"},
						 {"tls-cert", "--tls-cert"},
						 {"tls-key", "--tls-key"}};
	size_t count = 0;
	arguments[count++] = program;
	arguments[count++] = "--quiet";
	arguments[count++] = "--from";
	arguments[count++] = url;
	arguments[count++] = "--store";
	arguments[count++] = made;
	arguments[count++] = "--keep";
	arguments[count++] = "all";
	arguments[count++] = "--replay";
	arguments[count++] = job;
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		const char *value = hk_command_setting(secrets[i][0]);
		if (value) {
			arguments[count++] = secrets[i][1];
			arguments[count++] = value;
		}
	}
	arguments[count] = NULL;
}

static int run_collector(const char *url, const char *job)
{
	char program[PATH_MAX];
	const char *arguments[ARGUMENTS_MAX];
	int status = 0;
	if (hk_collector_find(program) < 0) {
		hk_error("hookcollector is not installed beside hookcli");
		return HK_EXIT_FAILED;
	}
	fill_arguments(program, url, job, arguments);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		/* What it says of itself is not the report. */
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execv(program, (char *const *)(void *)arguments);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	bool good = pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (!good) {
		hk_error("the job could not be read from %s", url);
	}
	return good ? HK_EXIT_DONE : HK_EXIT_FAILED;
}

/* Finds the newest job in the directory: one of the same key may have run before. */
static int find_job(const char *url, const char *job, char path[PATH_MAX])
{
	DIR *entries = opendir(made);
	size_t found = 0;
	time_t newest = 0;
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		char candidate[PATH_MAX];
		struct stat status;
		if (entry->d_name[0] == '.' ||
		    snprintf(candidate, sizeof(candidate), "%s/%s", made, entry->d_name) >=
			PATH_MAX ||
		    !hk_job_summary_is_job(candidate) || stat(candidate, &status) < 0) {
			continue;
		}
		if (found++ == 0 || status.st_mtime >= newest) {
			newest = status.st_mtime;
			memcpy(path, candidate, sizeof(candidate));
		}
	}
	if (entries) {
		closedir(entries);
	}
	if (found == 0) {
		hk_error("the stream at %s has no job '%s'", url, job);
	}
	return found ? HK_EXIT_DONE : HK_EXIT_ABSENT;
}

int hk_job_stream_read(const char *name, char path[PATH_MAX])
{
	char url[PATH_MAX];
	const char *slash = strrchr(name, '/');
	const char *begin = strstr(name, "://") + 3;
	size_t length = (size_t)(slash - name);
	if (slash < begin || !slash[1] || length >= sizeof(url)) {
		hk_error("'%s' names no job: nats://HOST[:PORT]/JOB", name);
		return HK_EXIT_USAGE;
	}
	memcpy(url, name, length);
	url[length] = '\0';
	int code = make_directory();
	code = code == HK_EXIT_DONE ? run_collector(url, slash + 1) : code;
	return code == HK_EXIT_DONE ? find_job(url, slash + 1, path) : code;
}
