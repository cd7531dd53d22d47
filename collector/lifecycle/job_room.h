/* job_room.h: keeps room on the disk for a job: its reserve, and the state of a full disk.
 *
 * While `full_error` of a job is set no records are stored; statistics have the reserve. One
 * thread.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_JOB_ROOM_H
#define HK_COLLECTOR_LIFECYCLE_JOB_ROOM_H

#include <stdbool.h>

#include "schema/wire.pb-c.h"

struct hk_job;

/* Reserves room on the disk for statistics. No records are stored until that succeeds. */
void hk_job_hold_reserve(struct hk_job *job);

/* Notes on a root that there is no room for a chunk; ERROR is why. The root takes no chunks until
 * there is room. Readers see the state, and the log has one line of it, until a chunk finds room.
 */
void hk_job_is_full(struct hk_job *job, int error);
void hk_job_has_room(struct hk_job *job);

/* Finds out whether there is room again. Called about once a second. */
void hk_job_check_room(struct hk_job *job);

/* Frees the reserve after ERROR of a write that must not fail. Returns true if there is more room
 * now. */
bool hk_job_use_reserve(struct hk_job *job, int error);

/* Writes STATE to the statistics file. A full disk has the reserve for it, which records cannot
 * use. Returns as hk_statistics_put_process does. */
int hk_job_put_process(struct hk_job *job, const Hk__Process *state);

#endif
