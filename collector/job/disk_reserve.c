#include "collector/job/disk_reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BYTES (UINT64_C(2) << 20)
#define SHARE 16u /* at most 1 / SHARE of a small file system */

static int path_of(const char *directory, char path[PATH_MAX])
{
	int length = snprintf(path, PATH_MAX, "%s/" HK_RESERVE_FILE, directory);
	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

bool hk_reserve_is_full(int error)
{
	return error == -ENOSPC || error == -EDQUOT;
}

static int allocate(const char *path, uint64_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		return -errno;
	}
	int r = -posix_fallocate(fd, 0, (off_t)bytes);
	close(fd);
	if (r < 0) {
		unlink(path);
	}
	return r;
}

int hk_reserve_take(bool *held, const char *directory)
{
	char path[PATH_MAX];
	struct statvfs space;
	int r = path_of(directory, path);
	if (r < 0 || statvfs(directory, &space) < 0) {
		return r < 0 ? r : -errno;
	}
	uint64_t all = (uint64_t)space.f_blocks * space.f_frsize;
	uint64_t bytes = all / SHARE < BYTES ? all / SHARE : BYTES;
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) {
		bytes = limit.rlim_cur;
	}
	bool there = *held || access(path, F_OK) == 0;
	if ((uint64_t)space.f_bavail * space.f_frsize < (there ? bytes : 2 * bytes)) {
		return -ENOSPC;
	}
	r = bytes > 0 && !*held ? allocate(path, bytes) : 0;
	*held = r == 0;
	return r;
}

bool hk_reserve_give(bool *held, const char *directory)
{
	char path[PATH_MAX];
	if (path_of(directory, path) == 0) {
		unlink(path);
	}
	bool any = *held;
	*held = false;
	return any;
}
