/* snapshot.h: the state of a job as its directory has it, shared by those that read the job. Its
 * references and `damaged` are atomic; nothing else changes. */
#ifndef HK_READER_SNAPSHOT_H
#define HK_READER_SNAPSHOT_H

#include <stdbool.h>

#include "schema/wire.pb-c.h"

struct hk_job_snapshot {
	unsigned refs; /* atomic */
	Hk__Snapshot *snapshot;
	char *directory;
	bool damaged; /* a part could not be read; readers of its calls set it too */
};

/* Loads the job in DIRECTORY, of one node or of several that have a directory each. Returns 0,
 * -ENOENT if it holds no job, -EBADMSG if nothing of it can be read, -ENOMEM, or -errno. */
int hk_job_snapshot_load(const char *directory, struct hk_job_snapshot **ret_job);
struct hk_job_snapshot *hk_job_snapshot_ref(struct hk_job_snapshot *job);
void hk_job_snapshot_unref(struct hk_job_snapshot *job); /* accepts NULL */

#endif
