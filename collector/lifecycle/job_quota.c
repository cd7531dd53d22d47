#include "collector/lifecycle/job_quota.h"

#include <errno.h>
#include <utlist.h>

#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/model/remote.h"
#include "collector/server/quota.h"
#include "wire/message.h"

#define VALUES_SLACK 16384u /* bytes: slack of a process's estimate */

int hk_job_quota_open(struct hk_quota *quota, struct hk_account *account, const struct hk_job *jobs,
		      uint64_t now_ns)
{
	const struct hk_job *job;
	uint32_t own = 0, all = 0;
	if (!hk_quota_payer(quota, account)) {
		return 0;
	}
	DL_FOREACH (jobs, job) {
		bool counts = job->account && !job->state->closed;
		all += counts;
		own += counts && job->account == account;
	}
	const char *why = NULL;
	if (own >= HK_QUOTA_JOBS || all >= quota->jobs_max) {
		why = "too many open jobs";
	} else if (!hk_quota_directory(account, now_ns)) {
		why = "too many new jobs";
	}
	if (why) {
		hk_quota_refuse(quota, account, why);
	}
	return why ? -EDQUOT : 0;
}

int hk_job_quota_book(struct hk_quota *quota, struct hk_account *account,
		      struct hk_process *process, const Hk__Process *change)
{
	uint64_t bytes = hk_message_memory(&change->base) + (process ? 0 : sizeof(*process));
	if (!account) {
		return 0;
	}
	if (process && process->remote->values_bytes + bytes >
			   process->remote->counted_bytes + process->remote->counted_bytes / 4 +
			       VALUES_SLACK) {
		uint64_t counted = hk_message_memory(&process->state->base) + sizeof(*process);
		uint64_t others = account->values_bytes > process->remote->values_bytes
				      ? account->values_bytes - process->remote->values_bytes
				      : 0;
		account->values_bytes = others + counted;
		process->remote->counted_bytes = process->remote->values_bytes = counted;
	}
	int r = hk_quota_values(quota, account, bytes);
	if (r == 0 && process) {
		process->remote->values_bytes += bytes;
	}
	return r;
}

void hk_job_quota_count(struct hk_quota *quota, const struct hk_job *jobs)
{
	const struct hk_job *job;
	const struct hk_process *process;
	for (size_t i = 0; i < quota->count; i++) {
		quota->accounts[i].values_bytes = 0;
	}
	DL_FOREACH (jobs, job) {
		if (!job->account) {
			continue;
		}
		job->account->values_bytes += hk_message_memory(&job->state->base);
		DL_FOREACH (job->processes, process) {
			job->account->values_bytes +=
			    process->remote ? process->remote->values_bytes : 0;
		}
	}
}

void hk_job_quota_count_jobs(struct hk_quota *quota, const struct hk_job *jobs)
{
	const struct hk_job *job;
	for (size_t i = 0; i < quota->count; i++) {
		quota->accounts[i].open_jobs = 0;
	}
	DL_FOREACH (jobs, job) {
		if (job->account && !job->state->closed) {
			job->account->open_jobs++;
		}
	}
}
