/* job_selection.h: checks --ranks, --from and --to against the job: a selection of nothing is a
 * mistake, not an empty result. */
#ifndef HK_CLI_JOB_JOB_SELECTION_H
#define HK_CLI_JOB_JOB_SELECTION_H

#include "cli/job/job.h"
#include "cli/timeline/timeline.h"

/* Checks that JOB has a process of the ranks of PART, and lasts until its `from_ns`. Returns
 * HK_EXIT_DONE. After a line on stderr, returns HK_EXIT_USAGE, with the available range in the
 * line, or HK_EXIT_FAILED. */
int hk_job_selection_check(const struct hk_job *job, const struct hk_timeline_options *part);

#endif
