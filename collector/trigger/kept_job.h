/* kept_job.h: the messages of a directory with the records that a trigger kept. No state. */
#ifndef HK_COLLECTOR_TRIGGER_KEPT_JOB_H
#define HK_COLLECTOR_TRIGGER_KEPT_JOB_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_copy;
struct hk_job;

struct hk_kept_job {
	const char *directory, *host;
	Hk__Trigger *trigger;
	/* Returns what of process UID is in the directory; NULL: nothing. */
	const struct hk_copy *(*copy)(const void *context, const uint8_t *uid);
	const void *context;
};

/* Writes the job and its processes as they are now, ended, with the counts of records that are
 * there, as files of KEPT's directory. Returns 0 or -errno. */
int hk_kept_job_write(struct hk_job *job, const struct hk_kept_job *kept);

#endif
