/* job_quota.h: books jobs and the values of their processes on accounts (server/quota.h). The
 * collector's thread. */
#ifndef HK_COLLECTOR_LIFECYCLE_JOB_QUOTA_H
#define HK_COLLECTOR_LIFECYCLE_JOB_QUOTA_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_account;
struct hk_job;
struct hk_process;
struct hk_quota;

/* Returns 0 if ACCOUNT may open a job beside those in JOBS now, or -EDQUOT, which is counted. */
int hk_job_quota_open(struct hk_quota *quota, struct hk_account *account, const struct hk_job *jobs,
		      uint64_t now_ns);

/* Books the values of PROCESS, new (NULL) or with CHANGE to come, on ACCOUNT (NULL: without limit).
 * Counts the process exactly once changes have added up. Returns 0 or -EDQUOT. */
int hk_job_quota_book(struct hk_quota *quota, struct hk_account *account,
		      struct hk_process *process, const Hk__Process *change);

/* Counts the values that the processes of open JOBS keep. Called about once a second. */
void hk_job_quota_count(struct hk_quota *quota, const struct hk_job *jobs);

/* Sets `open_jobs` of all accounts to their open ones of JOBS. */
void hk_job_quota_count_jobs(struct hk_quota *quota, const struct hk_job *jobs);

#endif
