/* job_room.h: room on the disk for a job: its reserve, and what happens when the disk is full.
 *
 * While `full_error` of a job is set no records are stored; statistics have the reserve. One
 * thread.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_JOB_ROOM_H
#define HK_COLLECTOR_LIFECYCLE_JOB_ROOM_H

#include <stdbool.h>

#include "schema/wire.pb-c.h"

struct hk_job;

/* Holds room on the disk for statistics; records stop until it can be held. */
void hk_job_hold_reserve(struct hk_job *job);

/* Notes on a root that there is no room for a chunk; ERROR is why. The root takes no chunks until
 * there is room. Readers see the state, and the log has one line of it, until a chunk finds room.
 */
void hk_job_is_full(struct hk_job *job, int error);
void hk_job_has_room(struct hk_job *job);

/* Finds out whether there is room again. Called about once a second. */
void hk_job_check_room(struct hk_job *job);

/* ERROR came of writing something that must be written. True: there is more room now. */
bool hk_job_use_reserve(struct hk_job *job, int error);

/* Writes STATE to the statistics file; a full disk has room for it that records could not take.
 * Errors of hk_statistics_put_process. */
int hk_job_put_process(struct hk_job *job, const Hk__Process *state);

#endif
