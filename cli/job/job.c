#include "cli/job/job.h"

#include <stddef.h>

void hk_job_close(struct hk_job *job)
{
	if (job->snapshot) {
		hk__snapshot__free_unpacked(job->snapshot, NULL);
		job->snapshot = NULL;
	}
}
