#include "collector/run_directory.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/lifecycle/job_list.h"
#include "collector/link/leaf.h"
#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/process.h"
#include "collector/server/server.h"

int hk_run_directory_take(struct hk_collector *collector)
{
	for (int i = 0; i < HK_RUNDIR_CANDIDATES; i++) {
		collector->dirfd[i] = -1;
	}
	int fd = hk_rundir_open_default(1, collector->run_directory);
	if (fd < 0) {
		hk_error("no run directory can be used error=%s; HOOK_RUN_DIR names another",
			 hk_rundir_problem(fd));
		return fd;
	}
	collector->dirfd[0] = fd;
	collector->lock_fd = hk_rundir_lock(fd);
	if (collector->lock_fd == -EWOULDBLOCK) {
		hk_error("a collector already serves %s (pid %d)", collector->run_directory,
			 hk_rundir_collector_pid(fd));
	} else if (collector->lock_fd < 0) {
		hk_error("cannot lock %s: %s", collector->run_directory,
			 strerror(-collector->lock_fd));
	}
	return collector->lock_fd < 0 ? collector->lock_fd : 0;
}

/* Returns whether the path leads to the open directory, and the directory has this collector's
 * lock. */
static bool is_whole(const struct hk_collector *collector)
{
	struct stat path, open, lock;
	return lstat(collector->run_directory, &path) == 0 &&
	       fstat(collector->dirfd[0], &open) == 0 && path.st_dev == open.st_dev &&
	       path.st_ino == open.st_ino && fstat(collector->lock_fd, &lock) == 0 &&
	       lock.st_nlink > 0;
}

/* Replaces the descriptor of the run directory, also in the processes, which unlink their segments
 * by it. */
static void replace_descriptor(struct hk_collector *collector, int fd, int lock_fd)
{
	struct hk_process *process, *next;
	HASH_ITER (hh, collector->processes, process, next) {
		if (process->segment->dirfd == collector->dirfd[0]) {
			process->segment->dirfd = fd;
		}
	}
	close(collector->dirfd[0]);
	close(collector->lock_fd);
	collector->dirfd[0] = fd;
	collector->lock_fd = lock_fd;
}

static int retake(struct hk_collector *collector)
{
	int fd = hk_rundir_open(collector->run_directory, 1);
	if (fd < 0) {
		return fd;
	}
	int lock_fd = hk_rundir_lock(fd);
	if (lock_fd < 0) {
		close(fd);
		return lock_fd;
	}
	replace_descriptor(collector, fd, lock_fd);
	/* If this fails, agents measure the clock rate themselves, a little less exactly. */
	hk_clock_store_q32(fd, collector->tick_ns_q32);
	hk_job_link_all(collector);
	if (collector->leaf) {
		hk_leaf_link_all(collector->leaf, collector);
	}
	hk_warning("run directory was removed and made again path=%s; processes whose segments "
		   "were not read yet are not traced any more",
		   collector->run_directory);
	return 0;
}

void hk_run_directory_check(struct hk_collector *collector)
{
	int r = is_whole(collector) ? 0 : retake(collector);
	if (r == 0 && !hk_server_is_reachable(collector->server)) {
		r = hk_server_listen_again(collector->server, collector->url);
	}
	if (r < 0 && r != collector->run_directory_error) {
		hk_warning(
		    "run directory cannot be made again path=%s error=%s", collector->run_directory,
		    r == -EWOULDBLOCK ? "another collector serves it" : hk_rundir_problem(r));
	}
	collector->run_directory_error = r;
}
