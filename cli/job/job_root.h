/* job_root.h: the whole of a job that this node's leaf has a part of. Main thread only. */
#ifndef HK_CLI_JOB_JOB_ROOT_H
#define HK_CLI_JOB_JOB_ROOT_H

#include <stdint.h>

#include "cli/job/job.h"

/* JOB is a leaf's part of one that a root has all of: takes that, or says on stderr why not. */
void hk_job_root_follow(struct hk_job *job);

/* Waits until the root has closed the job that DIRECTORY is a leaf's part of, WAIT_NS at most; true
 * if it has. */
bool hk_job_root_await(const char *directory, uint64_t wait_ns);

#endif
