#include "cli/run/job_paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/rundir.h"
#include "cli/job/collectors.h"
#include "cli/job/job.h"
#include "cli/run/collector_start.h"
#include "cli/run/session_members.h"
#include "ring/segment.h"
#include "text/name.h"

#define DIRECTORIES_MAX 1000
#define COLLECTOR_END_MS 30000 /* enough for an overloaded machine */
#define STALE_S 60	       /* a younger directory may be about to get its collector */

int hk_job_paths_make_parents(const char *path)
{
	char part[PATH_MAX];

	if (!*path || snprintf(part, sizeof(part), "%s", path) >= PATH_MAX) {
		return *path ? -ENAMETOOLONG : -ENOENT;
	}
	for (char *at = part + 1; *at; at++) {
		if (*at == '/') {
			*at = '\0';
			if (mkdir(part, 0755) < 0 && errno != EEXIST) {
				return -errno;
			}
			*at = '/';
		}
	}
	return mkdir(part, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

int hk_job_paths_make_job(const char *parent, const char *name, char path[PATH_MAX])
{
	for (int i = 1; i < DIRECTORIES_MAX; i++) {
		int length = i == 1 ? snprintf(path, PATH_MAX, "%s/%s", parent, name)
				    : snprintf(path, PATH_MAX, "%s/%s-%d", parent, name, i);
		if (length >= PATH_MAX) {
			return -ENAMETOOLONG;
		}
		if (mkdir(path, 0700) == 0) {
			return 0;
		}
		if (errno != EEXIST) {
			return -errno;
		}
	}
	return -EEXIST;
}

void hk_job_paths_name(const char *command, const char *id, char *name, size_t size)
{
	char clean[HK_NAME_BYTES(40)];

	hk_name_print(clean, 40, command);
	size_t length = strlen(clean);
	bool said = strncmp(id, clean, length) == 0 && id[length] == '-';
	snprintf(name, size, HK_JOB_HERE "%s%s%s", said ? "" : clean, said ? "" : "-", id);
	for (char *at = name; *at; at++) {
		if (*at == '/') {
			*at = '_';
		}
	}
}

void hk_job_paths_link(const char *parent, const char *link, const char *target)
{
	char path[PATH_MAX], temporary[PATH_MAX];
	struct stat status;

	if (snprintf(path, sizeof(path), "%s/%s", parent, link) >= PATH_MAX ||
	    snprintf(temporary, sizeof(temporary), "%s/.%s.%d", parent, link, (int)getpid()) >=
		PATH_MAX ||
	    (lstat(path, &status) == 0 && !S_ISLNK(status.st_mode))) {
		return;
	}
	if (symlink(target, temporary) == 0 && rename(temporary, path) < 0) {
		unlink(temporary);
	}
}

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* Returns true for files that hookcli and the collector keep in a run directory. Segments belong to
 * the traced processes. */
static bool is_leftover(const char *name)
{
	static const char *const names[] = {HK_SESSION_MEMBERS_ELECTION,
					    HK_COLLECTOR_START_LOG,
					    HK_RUNDIR_LOCK,
					    HK_RUNDIR_SOCKET,
					    HK_RUNDIR_NODE,
					    "clock"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], name) == 0) {
			return true;
		}
	}
	return begins(name, HK_RUNDIR_MEMBERS) || begins(name, "leader.") ||
	       begins(name, HK_RUNDIR_SENT);
}

/* Returns true for the name of a traced process's segment. */
static bool is_segment(const char *name)
{
	const char *ending = strrchr(name, '.');

	return ending && strcmp(ending, HK_SEGMENT_SUFFIX) == 0;
}

/* Returns true for a link to a job that the root does not have completely. */
static bool is_unsent(const char *name)
{
	return begins(name, HK_RUNDIR_UNSENT);
}

/* Returns true if the directory has a file whose name IS_SUCH accepts. */
static bool has(int dirfd, bool (*is_such)(const char *name))
{
	int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = copy < 0 ? NULL : fdopendir(copy);
	bool found = false;

	for (struct dirent *entry; directory && !found && (entry = readdir(directory));) {
		found = is_such(entry->d_name);
	}
	if (directory) {
		closedir(directory);
	}
	return found;
}

bool hk_job_paths_has_unsent(int dirfd)
{
	return has(dirfd, is_unsent);
}

/* Returns true for a link to the directory of a job that has been removed. */
static bool leads_nowhere(int dirfd, const char *name)
{
	return begins(name, HK_RUNDIR_OPEN) && faccessat(dirfd, name, F_OK, 0) < 0 &&
	       errno == ENOENT;
}

static void remove_leftovers(int dirfd, const char *path)
{
	/* A later collector must be the same node for the root, so the files stay. */
	if (hk_job_paths_has_unsent(dirfd)) {
		return;
	}
	int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = copy < 0 ? NULL : fdopendir(copy);

	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		if (is_leftover(entry->d_name) || leads_nowhere(dirfd, entry->d_name)) {
			unlinkat(dirfd, entry->d_name, 0);
		}
	}
	if (directory) {
		closedir(directory);
	}
	rmdir(path);
}

void hk_job_paths_remove_rundir(int dirfd, const char *path)
{
	int pid = hk_rundir_collector_pid(dirfd);

	/* The collector would end by itself within a second; SIGTERM saves that wait. */
	if (pid > 1 && hk_rundir_has_collector(dirfd) && !has(dirfd, is_segment)) {
		kill(pid, SIGTERM);
	}
	for (int waited = 0; hk_rundir_has_collector(dirfd); waited += 5) {
		if (waited >= COLLECTOR_END_MS || has(dirfd, is_segment)) {
			return;
		}
		poll(NULL, 0, 5);
	}
	remove_leftovers(dirfd, path);
}

static void prune(const char *path)
{
	struct stat status;
	int fd = hk_rundir_open(path, 0);

	if (fd < 0) {
		return;
	}
	if (fstat(fd, &status) == 0 && time(NULL) - status.st_mtime > STALE_S &&
	    !hk_rundir_has_collector(fd)) {
		remove_leftovers(fd, path);
	}
	close(fd);
}

void hk_job_paths_prune_rundirs(const char *base)
{
	DIR *directory = opendir(base);
	char path[PATH_MAX];

	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		if (strncmp(entry->d_name, HK_COLLECTORS_PRIVATE, strlen(HK_COLLECTORS_PRIVATE)) ==
			0 &&
		    snprintf(path, sizeof(path), "%s/%s", base, entry->d_name) < PATH_MAX) {
			prune(path);
		}
	}
	if (directory) {
		closedir(directory);
	}
}
