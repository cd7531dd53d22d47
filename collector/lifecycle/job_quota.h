/* job_quota.h: what jobs and the values of their processes take of an account (server/quota.h). The
 * collector's thread.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_JOB_QUOTA_H
#define HK_COLLECTOR_LIFECYCLE_JOB_QUOTA_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_account;
struct hk_job;
struct hk_process;
struct hk_quota;

/* Whether ACCOUNT may open a job beside those in JOBS, now: 0; or -EDQUOT, which is counted. */
int hk_job_quota_open(struct hk_quota *quota, struct hk_account *account, const struct hk_job *jobs,
		      uint64_t now_ns);

/* Books for ACCOUNT (NULL: without limit) the values of PROCESS, new (NULL) or with CHANGE to come.
 * Counts exactly what the process has where changes have added up. 0 or -EDQUOT. */
int hk_job_quota_book(struct hk_quota *quota, struct hk_account *account,
		      struct hk_process *process, const Hk__Process *change);

/* Counts what the processes of open JOBS keep: to be called about once a second. */
void hk_job_quota_count(struct hk_quota *quota, const struct hk_job *jobs);

/* Sets `open_jobs` of all accounts to what is open of JOBS. */
void hk_job_quota_count_jobs(struct hk_quota *quota, const struct hk_job *jobs);

#endif
