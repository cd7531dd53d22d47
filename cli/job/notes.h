/* notes.h: what was found out about a job after it ran, in the file notes.json of its directory.
 * Main thread only. */
#ifndef HK_CLI_JOB_NOTES_H
#define HK_CLI_JOB_NOTES_H

#include "schema/wire.pb-c.h"

#define HK_NOTES_FILE "notes.json"
#define HK_NOTES_MAX 64 /* in a file; the newest stay */

/* Adds the notes of DIRECTORY to SNAPSHOT. Returns 0, also without such a file; -EBADMSG if the
 * file is damaged; -ENOMEM or -errno. */
int hk_notes_load(const char *directory, Hk__Snapshot *snapshot);

/* Adds NOTE to the file of DIRECTORY in place of an earlier one of its kind. Returns 0, -EBADMSG if
 * the file there is damaged, -ENOMEM or -errno. */
int hk_notes_add(const char *directory, const Hk__Note *note);

#endif
