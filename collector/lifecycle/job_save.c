#include "collector/lifecycle/job_save.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/job/jobdir.h"
#include "collector/job/nodedir.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_room.h"
#include "collector/lifecycle/job_sum.h"
#include "collector/lifecycle/process_list.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/model/remote.h"
#include "wire/statistics.h"

#define BEAT_NS UINT64_C(10000000000)
#define REMOTE_SAVE_SECONDS 10u
#define SECOND_NS UINT64_C(1000000000)

/* Accounts for the loss of the file of PROCESS, which is not open. A process of another node is
 * accounted for later, when its node has brought all: it may have more to bring. */
static void leave_file(const struct hk_job *job, struct hk_process *process)
{
	process->stored_bytes = process->held_bytes = 0;
	process->file_records = 0;
	process->oldest_known = false;
	if (process->remote) {
		process->remote->chunk_end = process->remote->evicted_at_source = 0;
		process->state->records_shed = 0;
	} else if (!*job->state->upstream) {
		process->state->records_shed = 0;
		hk_process_account(process);
	}
}

/* If the job's directory was removed while the job runs, makes a new one for further records and
 * all statistics. Does nothing if the whole store is gone: its file system may come back. */
static int renew(struct hk_job *job)
{
	const char *directory = job->state->directory;
	struct hk_statistics *statistics;
	struct hk_process *process;
	if (access(directory, F_OK) == 0 || errno != ENOENT || *job->state->whole) {
		return 0;
	}
	int r = mkdir(directory, 0755) < 0 ? -errno : 0;
	r = r < 0 ? r : hk_statistics_open(directory, &statistics);
	if (r < 0) {
		return r;
	}
	hk_statistics_free(job->statistics);
	job->statistics = statistics;
	job->changed = true;
	DL_FOREACH (job->processes, process) {
		process->changed = true;
		process->saved_ns = 0;
		if (!process->segment) {
			leave_file(job, process);
		}
	}
	hk_warning("job directory was removed, and with it the records so far directory=%s",
		   directory);
	return 0;
}

/* Touches the directory of an open job. For readers on other nodes, an open job that stays
 * untouched is one whose node has died. */
static void beat(struct hk_job *job)
{
	uint64_t now = hk_clock_monotonic_ns();
	if (*job->state->whole && now - job->beat_ns >= BEAT_NS) {
		hk_nodedir_beat(job->state->directory);
		job->beat_ns = now;
	}
}

/* Returns whether the state of PROCESS is to be saved now. The state of a remote process is saved
 * less often, because its leaf keeps it until the job is complete here. */
static bool due(const struct hk_process *process, uint64_t now)
{
	/* Spreads the remote processes over several seconds. */
	uint64_t turn = now / SECOND_NS + process->uid[0];
	return !process->remote || turn % REMOTE_SAVE_SECONDS == 0 ||
	       now - process->saved_ns >= 2 * REMOTE_SAVE_SECONDS * SECOND_NS;
}

static int save_changes(struct hk_collector *collector, struct hk_job *job, bool all)
{
	const uint64_t now = hk_clock_monotonic_ns();
	struct hk_process *process;
	bool any = job->changed || job->clocks_changed;
	int result = 0, r;
	DL_FOREACH (job->processes, process) {
		if (process->changed && (all || due(process, now))) {
			any = true;
			r = hk_job_put_process(job, process->state);
			process->changed = r < 0;
			process->upload.unsent = true;
			process->saved_ns = now;
			result = result < 0 ? result : r;
		}
	}
	if (!any) {
		return 0;
	}
	hk_job_sum(job);
	r = hk_statistics_put_job(job->statistics, job->state);
	job->clocks_changed = r < 0;
	result = result < 0 ? result : r;
	if (job->changed) {
		r = hk_jobdir_write(job->state, collector->host);
		job->changed = r < 0;
		result = result < 0 ? result : r;
	}
	return result;
}

static int save(struct hk_collector *collector, struct hk_job *job, bool all)
{
	if (!job->statistics) {
		return 0;
	}
	if (job->link_error < 0) {
		hk_job_link(collector, job);
	}
	int r = renew(job);
	if (r < 0) {
		return r;
	}
	beat(job);
	hk_job_check_room(job);
	r = save_changes(collector, job, all);
	return r < 0 && hk_job_use_reserve(job, r) ? save_changes(collector, job, all) : r;
}

int hk_job_save(struct hk_collector *collector, struct hk_job *job)
{
	return save(collector, job, true);
}

int hk_job_save_due(struct hk_collector *collector, struct hk_job *job)
{
	return save(collector, job, false);
}
