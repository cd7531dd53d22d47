/* job_paths.h: makes the directories of `hookcli run`: the job's, links to it, and the run
 * directory of a private collector. No state; main thread only. */
#ifndef HK_CLI_RUN_JOB_PATHS_H
#define HK_CLI_RUN_JOB_PATHS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Makes the directory `path` and its parents (0755). Returns 0 or -errno. */
int hk_job_paths_make_parents(const char *path);

/* Makes a new directory (0700), NAME below `parent`, or NAME-2, NAME-3 ... Sets `path` to its path.
 * Returns 0 or -errno. */
int hk_job_paths_make_job(const char *parent, const char *name, char path[PATH_MAX]);

/* hook-<command>-<id>, without saying the command twice and without '/'. */
void hk_job_paths_name(const char *command, const char *id, char *name, size_t size);

/* Makes `link` in directory `parent` point to `target`, in one step. A file of that name that is no
 * link stays. */
void hk_job_paths_link(const char *parent, const char *link, const char *target);

/* Returns true if run directory `dirfd` has a closed job that its root does not have completely. */
bool hk_job_paths_has_unsent(int dirfd);

/* Waits briefly for the end of the collector of the private run directory at `path`, opened as
 * `dirfd`, and removes the directory. Files of traced processes stay. */
void hk_job_paths_remove_rundir(int dirfd, const char *path);

/* Removes private run directories below `base` that a killed hookcli left behind. */
void hk_job_paths_prune_rundirs(const char *base);

#endif
