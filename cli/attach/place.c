#include "cli/attach/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "libhookagent-attached.so"
#define TEMPORARY ".libhookagent-attached.so"

/* Copies the file FROM into DIRECTORY under NAME. A file of that name may be loaded: it is
 * replaced, and not written to. */
static int copy(const char *from, const char *directory)
{
	struct stat status;
	int r = 0;
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int at = open(directory, O_DIRECTORY | O_CLOEXEC);
	int out = -1;

	if (in < 0 || at < 0 || fstat(in, &status) < 0) {
		r = -errno;
	} else {
		unlinkat(at, TEMPORARY, 0);
		out = openat(at, TEMPORARY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			     0700);
		r = out < 0 ? -errno : 0;
	}
	for (off_t done = 0; r == 0 && done < status.st_size;) {
		ssize_t got = sendfile(out, in, &done, (size_t)(status.st_size - done));
		r = got > 0 ? 0 : got < 0 ? -errno : -EIO;
	}
	if (r == 0 && renameat(at, TEMPORARY, at, NAME) < 0) {
		r = -errno;
	}
	if (out >= 0) {
		close(out);
	}
	if (at >= 0) {
		close(at);
	}
	if (in >= 0) {
		close(in);
	}
	return r;
}

int hk_place_agent(const struct hk_target *target, const char *agent, const char *run_directory,
		   char path[PATH_MAX], char why[HK_ATTACH_WHY_BYTES])
{
	int pid = (int)target->pid;

	if (!hk_target_sees(target, run_directory)) {
		snprintf(why, HK_ATTACH_WHY_BYTES,
			 "process %d does not see the run directory %s: it is in another container "
			 "(set HOOK_RUN_DIR to a directory that both see under one path)",
			 pid, run_directory);
		return -ENOENT;
	}
	if (hk_target_sees(target, agent)) {
		snprintf(path, PATH_MAX, "%s", agent);
		return 0;
	}
	int r = copy(agent, run_directory);
	if (r < 0 || snprintf(path, PATH_MAX, "%s/" NAME, run_directory) >= PATH_MAX) {
		snprintf(why, HK_ATTACH_WHY_BYTES, "cannot copy the agent to %s: %s", run_directory,
			 r < 0 ? strerror(-r) : strerror(ENAMETOOLONG));
		return r < 0 ? r : -ENAMETOOLONG;
	}
	return 0;
}
