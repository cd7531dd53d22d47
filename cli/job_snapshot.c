#include "job_snapshot.h"

#include <errno.h>
#include <string.h>

#include "call.h"

static bool by_function;

void hk_job_snapshot_fold(bool fold)
{
	by_function = fold;
}

int hk_job_snapshot_ask(const char *url, const char *id, Hk__Response **ret_response)
{
	Hk__SnapshotRequest what = HK__SNAPSHOT_REQUEST__INIT;
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *response;

	what.job = (char *)id;
	what.by_function = by_function;
	what.memory_series = !by_function;
	request.what_case = HK__REQUEST__WHAT_SNAPSHOT;
	request.snapshot = &what;
	int r = hk_call(url, &request, HK_JOB_ASK_TIMEOUT_MS, &response);
	if (r < 0) {
		return r;
	}
	if (response->error == 0 && (!response->snapshot || !response->snapshot->job)) {
		response->error = -ENOENT;
	}
	*ret_response = response;
	return response->error;
}

void hk_job_snapshot_take(struct hk_job *job, Hk__Response *response, const char *url)
{
	snprintf(job->url, sizeof(job->url), "%s", url);
	job->snapshot = response->snapshot;
	response->snapshot = NULL;
	job->live = !job->snapshot->job->closed;
	snprintf(job->directory, sizeof(job->directory), "%s", job->snapshot->job->directory);
}
