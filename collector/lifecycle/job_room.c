#include "collector/lifecycle/job_room.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/job/disk_reserve.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "wire/statistics.h"

#define ASK_AGAIN_NS UINT64_C(10000000000)

void hk_job_hold_reserve(struct hk_job *job)
{
	int r = hk_reserve_take(&job->reserve_held, job->state->directory);
	if (r == 0 && job->full_error != 0 && !job->intake_full) {
		hk_info("records are stored again job=%s", job->state->id);
	}
	job->full_error = r;
}

void hk_job_is_full(struct hk_job *job, int error)
{
	Hk__Job *state = job->state;
	job->full_error = error;
	job->turned_away_ns = hk_clock_monotonic_ns();
	if (job->intake_full) {
		return;
	}
	hk_warning("no room for records of other nodes job=%s error=%s; they wait there: free "
		   "space in %s, or start with a smaller --keep",
		   state->id, strerror(-error), state->directory);
	hk_field_set_string(&state->store_error, strerror(-error));
	job->changed = true;
	job->intake_full = true;
}

void hk_job_has_room(struct hk_job *job)
{
	if (job->intake_full) {
		hk_info("records of other nodes are stored again job=%s", job->state->id);
		job->intake_full = false;
	}
}

/* A node with unsent data asks every second. If no node asks, no data waits for room, or the nodes
 * are lost. */
void hk_job_check_room(struct hk_job *job)
{
	if (job->full_error != 0) {
		hk_job_hold_reserve(job);
	}
	if (job->intake_full && job->full_error == 0 &&
	    hk_clock_monotonic_ns() - job->turned_away_ns >= ASK_AGAIN_NS) {
		hk_job_has_room(job);
	}
}

bool hk_job_use_reserve(struct hk_job *job, int error)
{
	if (!hk_reserve_is_full(error) ||
	    !hk_reserve_give(&job->reserve_held, job->state->directory)) {
		return false;
	}
	job->full_error = error;
	return true;
}

int hk_job_put_process(struct hk_job *job, const Hk__Process *state)
{
	int r = hk_statistics_put_process(job->statistics, state);
	return r < 0 && hk_job_use_reserve(job, r)
		   ? hk_statistics_put_process(job->statistics, state)
		   : r;
}
