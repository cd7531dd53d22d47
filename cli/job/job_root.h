/* job_root.h: loads the whole of a job that this node's leaf has a part of. Main thread only. */
#ifndef HK_CLI_JOB_JOB_ROOT_H
#define HK_CLI_JOB_JOB_ROOT_H

#include <stdint.h>

#include "cli/job/job.h"

/* If JOB is a leaf's part of a job on a root, replaces it by the whole job. Prints the reason to
 * stderr if that fails. */
void hk_job_root_follow(struct hk_job *job);

/* Waits at most WAIT_NS until the root has closed the job that DIRECTORY is a leaf's part of.
 * Returns whether it has. */
bool hk_job_root_await(const char *directory, uint64_t wait_ns);

#endif
