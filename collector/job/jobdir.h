/* jobdir.h: directories of jobs: where they lie, what they are called, and job.json in them.
 *
 * While a job is open the run directory holds a link job.<id> to its directory, which is how the
 * next collector finds it. No state; not meant for concurrent use on one directory.
 */
#ifndef HK_COLLECTOR_JOB_JOBDIR_H
#define HK_COLLECTOR_JOB_JOBDIR_H

#include <limits.h>
#include <stdint.h>

#include "base/rundir.h"
#include "schema/wire.pb-c.h"

#define HK_JOBDIR_ID_BYTES 160

/* Default store: $XDG_STATE_HOME or ~/.local/state, + /hooktrace. -ENOENT: neither variable is set;
 * -ENAMETOOLONG. */
int hk_jobdir_store(char path[PATH_MAX]);

/* KEY with everything that has no place in a file name replaced; never empty, never hidden. */
void hk_jobdir_id(const char *key, char id[HK_JOBDIR_ID_BYTES]);

/* Makes all directories of PATH (mode 0755, the last one 0700 unless it is there). */
int hk_jobdir_make(const char *path);

/* Makes a new directory STORE/ID, or ID-2, ID-3 ... if that exists; ID is what it became. */
int hk_jobdir_create(const char *store, char id[HK_JOBDIR_ID_BYTES], char path[PATH_MAX]);

/* Replaces DIRECTORY/job.json, as a whole or not at all. */
int hk_jobdir_write(const Hk__Job *job, const char *host);

/* Writes report.json and summary.txt of SNAPSHOT into its job's directory. */
int hk_jobdir_report(const Hk__Snapshot *snapshot);

/* Notes in run directory DIRFD where job ID lies, as PREFIX (HK_RUNDIR_OPEN: it is open) and the
 * id; removes the note. */
int hk_jobdir_link(int dirfd, const char *prefix, const char *id, const char *path);
void hk_jobdir_unlink(int dirfd, const char *prefix, const char *id);

/* Calls TAKE with the directory of each job that was noted as PREFIX in run directory DIRFD. After
 * -EBADMSG, -ENOENT or -EPROTO, which say that there is no job, the note is removed. After any
 * other -errno all are tried again for some seconds; TAKE returns 0 for those that it has. What
 * cannot be read even then stays noted for the next collector. */
void hk_jobdir_take_up(int dirfd, const char *prefix, int (*take)(void *context, const char *path),
		       void *context);

/* Removes what collectors write into a job directory, and the directory if nothing else is in it.
 * -errno of opening it. */
int hk_jobdir_remove(const char *path);

/* The chunk file of process UID (16 bytes) in DIRECTORY. -ENAMETOOLONG. */
int hk_jobdir_chunks(const char *directory, const uint8_t *uid, char path[PATH_MAX]);

#endif
