/* job_open.h: finds the job that a user names and loads it, from a directory or a collector. A job
 * is named by id, by unique prefix or by directory, as in `hookcli ls`. Without a name it is
 * ./hook-last, else the newest job of the collector. If this node's leaf has only a part of a job,
 * it is loaded from the root. An error is one line on stderr with a hint. Main thread only. */
#ifndef HK_CLI_JOB_JOB_OPEN_H
#define HK_CLI_JOB_JOB_OPEN_H

#include "cli/job/job.h"

/* Loads the job called NAME (NULL: the default). Returns HK_EXIT_DONE, or another exit code after a
 * line on stderr. Close with hk_job_close. */
int hk_job_open(const char *name, struct hk_job *ret_job);

/* The same, but loads the records that TRIGGER of the job has kept, unless it is 0. */
int hk_job_open_trigger(const char *name, uint32_t trigger, struct hk_job *ret_job);

#endif
