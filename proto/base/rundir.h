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
/* Files of a leaf: its node id; prefix of links to closed jobs that the root has not received
 * completely; prefix of links to those that it has received, which are about to be removed. */
#define HK_RUNDIR_NODE "node"
#define HK_RUNDIR_UNSENT "unsent."
#define HK_RUNDIR_SENT "sent."
/* Begins the name of the file by which the `hookcli run` processes of a job find each other. */
#define HK_RUNDIR_MEMBERS "members."
#define HK_RUNDIR_CANDIDATES 3

/* Writes candidate number INDEX (0: first choice) into PATH. With HOOK_RUN_DIR set there is exactly
 * one candidate. Returns 0, -ENOENT if there is no such candidate, -ENAMETOOLONG, or -EINVAL if
 * HOOK_RUN_DIR is not an absolute path. */
int hk_rundir_path(int index, char path[PATH_MAX]);

/* Opens the run directory at PATH and checks it; CREATE makes it with mode 0700. Returns a file
 * descriptor, -EPERM if the directory has another owner or is open to others, or -errno. */
int hk_rundir_open(const char *path, int create);

/* Opens the first usable candidate, creating it if CREATE, and writes its path to PATH. Returns a
 * file descriptor or -errno, including the errors of hk_rundir_path. */
int hk_rundir_open_default(int create, char path[PATH_MAX]);

/* The same where CHOSEN stands for the value of HOOK_RUN_DIR; NULL: it is not set. */
int hk_rundir_open_chosen(const char *chosen, int create, char path[PATH_MAX]);

/* Text of an error of the functions above, for messages. Inline in the header, because the agent
 * must not call strerror. */
static inline const char *hk_rundir_problem(int error)
{
	return error == -EINVAL ? "HOOK_RUN_DIR is not an absolute path"
	       : error == -EPERM
		   ? "it belongs to another user, or others may enter it: make it yours, mode 0700"
		   : strerror(-error);
}

/* Returns 1 if a live collector holds the lock of run directory DIRFD, else 0. */
int hk_rundir_has_collector(int dirfd);

/* Process id that the last holder of the lock wrote into it, for messages; 0 if unknown. */
int hk_rundir_collector_pid(int dirfd);

/* Takes the collector's lock for the life of the returned descriptor. Returns -EWOULDBLOCK if
 * another process holds it. */
int hk_rundir_lock(int dirfd);

/* Locks the members' file FD, open for reading, for its life: a holder will close the job at its
 * end. Independent of flock(2). Returns 0 or -errno. */
int hk_rundir_keep_job(int fd);

/* Returns 1 if a process locks the members' file of JOB in run directory DIRFD as above, else 0. */
int hk_rundir_job_is_kept(int dirfd, const char *job);

#endif
