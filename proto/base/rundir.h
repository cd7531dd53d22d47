/* rundir.h: the directory where segments, the collector's lock and its socket meet.
 *
 * $HOOK_RUN_DIR, else /dev/shm/hooktrace-<uid>, else /run/user/<uid>/hooktrace. Directories are
 * 0700, opened O_NOFOLLOW, owner and mode checked. Used by agent, collector and cli; libc only, no
 * allocation.
 */
#ifndef HK_BASE_RUNDIR_H
#define HK_BASE_RUNDIR_H

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

/* Followed by a job's id: a link to the directory of an open job. */
#define HK_RUNDIR_OPEN "job."
#define HK_RUNDIR_SOCKET "collector.sock"
#define HK_RUNDIR_LOCK "collector.lock"
/* Who this machine is to a leaf's root; begins links to closed jobs that the root has not got all
 * of; to those that it has, which are about to be removed. */
#define HK_RUNDIR_NODE "node"
#define HK_RUNDIR_UNSENT "unsent."
#define HK_RUNDIR_SENT "sent."
/* Begins the name of the file by which the `hookcli run` processes of a job find each other. */
#define HK_RUNDIR_MEMBERS "members."
#define HK_RUNDIR_CANDIDATES 3

/* Writes candidate number INDEX (0: the one to use first) into PATH. 0; -ENOENT: no such candidate;
 * -ENAMETOOLONG; -EINVAL: HOOK_RUN_DIR is no absolute path. With HOOK_RUN_DIR set there is exactly
 * one candidate. */
int hk_rundir_path(int index, char path[PATH_MAX]);

/* Opens (CREATE: makes, mode 0700) the run directory at PATH and checks it. File descriptor;
 * -EPERM: not ours or open to others; -errno. */
int hk_rundir_open(const char *path, int create);

/* Opens the first usable candidate, creating it if CREATE; its path goes to PATH. File descriptor
 * or -errno, of hk_rundir_path too. */
int hk_rundir_open_default(int create, char path[PATH_MAX]);

/* An error of the functions above in words, for messages; here, because the agent has no use for
 * strerror. */
static inline const char *hk_rundir_problem(int error)
{
	return error == -EINVAL ? "HOOK_RUN_DIR is not an absolute path"
	       : error == -EPERM
		   ? "it belongs to another user, or others may enter it: make it yours, mode 0700"
		   : strerror(-error);
}

/* 1 if a live collector holds the lock of run directory DIRFD, 0 if none. */
int hk_rundir_has_collector(int dirfd);

/* Process id that the last holder of the lock left in it, for messages; 0 if unknown. */
int hk_rundir_collector_pid(int dirfd);

/* Takes the collector's lock for the life of the returned descriptor; -EWOULDBLOCK: another one has
 * it. */
int hk_rundir_lock(int dirfd);

/* Holds the members' file FD, open for reading, for its life: somebody is there who will close the
 * job. Independent of flock(2). -errno. */
int hk_rundir_keep_job(int fd);

/* 1 if somebody in run directory DIRFD holds the members' file of JOB so, 0 if nobody. */
int hk_rundir_job_is_kept(int dirfd, const char *job);

#endif
