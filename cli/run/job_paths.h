/* job_paths.h: where `hookcli run` puts things: the job's directory, links to it, the run directory
 * of a private collector. No state; main thread only.
 */
#ifndef HK_CLI_RUN_JOB_PATHS_H
#define HK_CLI_RUN_JOB_PATHS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Makes the directory `path` and those above it (0755). -errno. */
int hk_job_paths_make_parents(const char *path);

/* Makes a new directory (0700): NAME below `parent`, or NAME-2, NAME-3 ...; its path goes to
 * `path`. -errno. */
int hk_job_paths_make_job(const char *parent, const char *name, char path[PATH_MAX]);

/* hook-<command>-<id>, without saying the command twice and without '/'. */
void hk_job_paths_name(const char *command, const char *id, char *name, size_t size);

/* Points `link` in directory `parent` to `target`, in one step; anything that is no link stays. */
void hk_job_paths_link(const char *parent, const char *link, const char *target);

/* True if run directory `dirfd` leads to a closed job that a root has not got all of. */
bool hk_job_paths_has_unsent(int dirfd);

/* Removes the private run directory at `path` (opened as `dirfd`) once its collector has ended,
 * which may take a moment. What a traced process left there stays. */
void hk_job_paths_remove_rundir(int dirfd, const char *path);

/* Removes private run directories below `base` that a killed hookcli left behind. */
void hk_job_paths_prune_rundirs(const char *base);

#endif
