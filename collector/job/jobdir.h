/* jobdir.h: directories of jobs: their places, their names, and job.json in them.
 *
 * While a job is open, the run directory has a link job.<id> to its directory, for the next
 * collector. No state; not for concurrent use on one directory.
 */
#ifndef HK_COLLECTOR_JOB_JOBDIR_H
#define HK_COLLECTOR_JOB_JOBDIR_H

#include <limits.h>
#include <stdint.h>

#include "base/rundir.h"
#include "schema/wire.pb-c.h"

#define HK_JOBDIR_ID_BYTES 160

/* Sets PATH to the default store: $XDG_STATE_HOME or ~/.local/state, + /hooktrace. Returns 0,
 * -ENOENT if neither variable is set, or -ENAMETOOLONG. */
int hk_jobdir_store(char path[PATH_MAX]);

/* Makes a file name of KEY by replacing characters; never empty, never hidden. */
void hk_jobdir_id(const char *key, char id[HK_JOBDIR_ID_BYTES]);

/* Makes all directories of PATH (mode 0755, the last one 0700 unless it is there). */
int hk_jobdir_make(const char *path);

/* Makes a new directory STORE/ID, or ID-2, ID-3 ... if that exists. Sets ID to its name. */
int hk_jobdir_create(const char *store, char id[HK_JOBDIR_ID_BYTES], char path[PATH_MAX]);

/* Replaces DIRECTORY/job.json, as a whole or not at all. */
int hk_jobdir_write(const Hk__Job *job, const char *host);

/* Writes report.json and summary.txt of SNAPSHOT into its job's directory. */
int hk_jobdir_report(const Hk__Snapshot *snapshot);

/* Adds or removes the link to job ID in run directory DIRFD. Its name is PREFIX (HK_RUNDIR_OPEN: an
 * open job) and the id. */
int hk_jobdir_link(int dirfd, const char *prefix, const char *id, const char *path);
void hk_jobdir_unlink(int dirfd, const char *prefix, const char *id);

/* Calls TAKE with the directory of each job with a link of PREFIX in run directory DIRFD. If TAKE
 * returns -EBADMSG, -ENOENT or -EPROTO there is no job, and the link is removed. After any other
 * -errno all links are tried again for some seconds; TAKE returns 0 for a job that it has. The link
 * of a job that cannot be read even then stays for the next collector. */
void hk_jobdir_take_up(int dirfd, const char *prefix, int (*take)(void *context, const char *path),
		       void *context);

/* Removes the files of collectors from a job directory, and the directory if it is then empty.
 * Returns 0, or -errno of opening it. */
int hk_jobdir_remove(const char *path);

/* Sets PATH to the chunk file of process UID (16 bytes) in DIRECTORY. Returns 0 or -ENAMETOOLONG.
 */
int hk_jobdir_chunks(const char *directory, const uint8_t *uid, char path[PATH_MAX]);

#endif
