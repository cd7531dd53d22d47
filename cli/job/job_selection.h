/* job_selection.h: the part of a job that a command was asked for, against what there is of it: a
 * list of ranks or a time that names nothing is a mistake, not an empty answer. */
#ifndef HK_CLI_JOB_JOB_SELECTION_H
#define HK_CLI_JOB_JOB_SELECTION_H

#include "cli/job/job.h"
#include "cli/timeline/timeline.h"

/* Whether JOB has a process of the ranks of PART, and goes on until its `from_ns`. HK_EXIT_DONE, or
 * HK_EXIT_USAGE after a line on stderr that says what there is. */
int hk_job_selection_check(const struct hk_job *job, const struct hk_timeline_options *part);

#endif
