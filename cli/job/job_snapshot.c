#include "cli/job/job_snapshot.h"

#include <errno.h>
#include <string.h>

#include "cli/job/collector_client.h"
#include "report/build/group.h"

static unsigned fold_keys;

void hk_job_snapshot_rollup(unsigned keys)
{
	fold_keys = keys;
}

int hk_job_snapshot_request(const char *url, const char *id, Hk__Response **ret_response)
{
	Hk__SnapshotRequest what = HK__SNAPSHOT_REQUEST__INIT;

	what.job = (char *)id;
	what.by_function = fold_keys != 0;
	what.fold_keys = fold_keys;
	what.memory_series = fold_keys == 0;
	/* Latencies of different functions have no meaning together. */
	what.no_histograms = fold_keys != 0 && !(fold_keys & HK_GROUP_FUNCTION);
	return hk_job_snapshot_request_as(url, &what, ret_response);
}

int hk_job_snapshot_request_as(const char *url, Hk__SnapshotRequest *what,
			       Hk__Response **ret_response)
{
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *response;

	request.what_case = HK__REQUEST__WHAT_SNAPSHOT;
	request.snapshot = what;
	int r = hk_client_call(url, &request, HK_CLIENT_TIMEOUT_MS, &response);
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
