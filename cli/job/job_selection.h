/* job_selection.h: checks --ranks, --from and --to against the job: a selection of nothing is a
 * mistake, not an empty result. */
#ifndef HK_CLI_JOB_JOB_SELECTION_H
#define HK_CLI_JOB_JOB_SELECTION_H

#include "cli/job/job.h"
#include "cli/timeline/timeline.h"

/* Whether JOB has a process of the ranks of PART, and lasts until its `from_ns`. Returns
 * HK_EXIT_DONE, or after a line on stderr HK_EXIT_USAGE, which names the available range, or
 * HK_EXIT_FAILED. */
int hk_job_selection_check(const struct hk_job *job, const struct hk_timeline_options *part);

#endif
