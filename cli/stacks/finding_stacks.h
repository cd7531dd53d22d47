/* finding_stacks.h: completes findings about a running job with the stacks of its threads. Main
 * thread only. */
#ifndef HK_CLI_STACKS_FINDING_STACKS_H
#define HK_CLI_STACKS_FINDING_STACKS_H

#include "cli/job/job.h"
#include "report/finding/finding.h"

/* Asks the collector of JOB, which runs, for the stacks of the ranks that a hang waits for. Adds
 * their stacks to the finding. Without a hang it compares the stacks of all ranks if most are in no
 * call but waits: where most ranks wait in one place and few are elsewhere, it adds the finding
 * "hang" about these. Returns 0 or -ENOMEM. What the collector cannot answer is left out. */
int hk_finding_stacks_add(const struct hk_job *job, const struct hk_report *report,
			  struct hk_findings *findings);

#endif
