#include "cli/job/job_root.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/job/collector_client.h"
#include "cli/job/job_snapshot.h"
#include "cli/job/job_stream.h"
#include "wire/statistics.h"

#define POLL_NS 50000000

void hk_job_root_follow(struct hk_job *job)
{
	const Hk__Job *part = job->snapshot->job;
	Hk__Response *response = NULL;
	struct hk_job whole = {0};

	if (hk_job_stream_is(part->upstream)) {
		hk_info("this is this node's part of the job; of all nodes: hookcli report %s/%s",
			part->upstream, part->key);
		return;
	}
	int r = *part->upstream_id
		    ? hk_job_snapshot_request(part->upstream, part->upstream_id, &response)
		    : -ENOENT;
	if (r == 0) {
		hk_job_snapshot_take(&whole, response, part->upstream);
		whole.elsewhere = access(whole.directory, F_OK) < 0;
	} else {
		hk_warning("the root at %s %s: this is this node's part of the job", part->upstream,
			   r == -ENOENT ? "does not have the job" : hk_client_reason(r));
	}
	if (response) {
		hk__response__free_unpacked(response, NULL);
	}
	if (r == 0) {
		hk_job_close(job);
		*job = whole;
	}
}

/* Returns whether a retry may help. */
static bool passes(int error)
{
	return error != -EACCES && error != -EKEYREJECTED && error != -EINVAL;
}

/* Returns 1 if the root has closed the job that DIRECTORY is a part of, 0 if not yet or if a retry
 * may help, -ENOENT if DIRECTORY has no statistics, or -errno if the root refuses the request. */
static int is_over(const char *directory)
{
	Hk__SnapshotRequest what = HK__SNAPSHOT_REQUEST__INIT;
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *response;
	Hk__Snapshot *part = NULL;

	(void)hk_statistics_load(directory, &part);
	if (!part) {
		return -ENOENT;
	}
	what.job = part->job->upstream_id;
	what.no_histograms = true;
	request.what_case = HK__REQUEST__WHAT_SNAPSHOT;
	request.snapshot = &what;
	int r = *what.job
		    ? hk_client_call(part->job->upstream, &request, HK_CLIENT_TIMEOUT_MS, &response)
		    : -EAGAIN;
	if (r == 0) {
		r = response->snapshot && response->snapshot->job &&
		    response->snapshot->job->closed;
		hk__response__free_unpacked(response, NULL);
	}
	hk__snapshot__free_unpacked(part, NULL);
	return r < 0 && passes(r) ? 0 : r;
}

bool hk_job_root_await(const char *directory, uint64_t wait_ns)
{
	const struct timespec pause = {0, POLL_NS};
	uint64_t end = hk_clock_monotonic_ns() + wait_ns;
	int r;

	while ((r = is_over(directory)) == 0 && hk_clock_monotonic_ns() < end) {
		nanosleep(&pause, NULL);
	}
	return r > 0;
}
