#include "collector/lifecycle/job_close.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rundir.h"
#include "collector/arrival/matcher.h"
#include "collector/job/disk_reserve.h"
#include "collector/job/jobdir.h"
#include "collector/job/nodedir.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_save.h"
#include "collector/lifecycle/job_sum.h"
#include "collector/lifecycle/process_list.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/model/remote.h"
#include "collector/proc/procfs.h"
#include "collector/spool/retention.h"
#include "wire/statistics.h"

#define SECOND_NS UINT64_C(1000000000)
#define CLOSE_AGAIN_NS SECOND_NS
#define CLOSE_AFTER_MAINS_NS (2 * SECOND_NS)
#define CLOSE_AFTER_LIFE_NS (60 * SECOND_NS)

/* ---- when ---- */

/* Returns whether the job's command lives. A zombie counts as alive while hookcli can still collect
 * it and report its end. An orphaned zombie, whose parent is init, does not. */
static bool command_lives(const struct hk_job *job)
{
	struct hk_procfs_stat stat;
	return job->state->command_pid != 0 &&
	       hk_procfs_stat(job->state->command_pid, &stat) == 0 &&
	       (stat.state != 'Z' || stat.ppid > 1);
}

static bool had_main(const struct hk_job *job)
{
	const struct hk_process *process;
	bool any = false;
	DL_FOREACH (job->processes, process) {
		if (process->state->role == HK__ROLE__ROLE_MAIN) {
			any = true;
		}
	}
	return any;
}

bool hk_job_should_close(const struct hk_collector *collector, const struct hk_job *job,
			 uint32_t awaited, uint64_t now)
{
	const struct hk_process *process;
	DL_FOREACH (job->processes, process) {
		if (hk_process_has_segment(process, now)) {
			return false;
		}
	}
	if (awaited > 0) {
		return false;
	}
	if (job->state->n_nodes > 0) {
		/* Of a part of a job, other ranks are in other parts. */
		bool all = *job->state->whole || hk_job_all_ranks(job);
		if (all && job->state->have_exit) {
			return true;
		}
		/* Ranks of a node that has not reported yet may still appear. */
		return now - job->alive_ns >= (all ? CLOSE_AFTER_MAINS_NS : CLOSE_AFTER_LIFE_NS);
	}
	if (job->close_requested) {
		return true;
	}
	/* hookcli is alive and will close the job, even if it gets no processor for a while. */
	if (job->state->announced && hk_rundir_job_is_kept(collector->dirfd[0], job->state->key)) {
		return false;
	}
	uint64_t quiet = now - job->alive_ns;
	if (job->state->announced && job->state->command_pid != 0) {
		return quiet >= CLOSE_AFTER_MAINS_NS && !command_lives(job);
	}
	/* The hookcli that announced the job may have been killed with its ranks, and then cannot
	 * report the end. */
	bool over = job->state->announced ? hk_job_all_ranks(job) : had_main(job);
	return quiet >= (over ? CLOSE_AFTER_MAINS_NS : CLOSE_AFTER_LIFE_NS);
}

bool hk_job_close_is_due(const struct hk_job *job, uint64_t now_ns)
{
	return job->close_error == 0 || now_ns - job->close_tried_ns >= CLOSE_AGAIN_NS;
}

/* ---- how ---- */

/* Forgets the closed job that ended first if there are too many. Its directory holds all its data.
 */
static void forget_oldest(struct hk_collector *collector)
{
	struct hk_job *job, *oldest = NULL;
	uint32_t closed = 0;
	DL_FOREACH (collector->jobs, job) {
		if (job->state->closed) {
			oldest = oldest ? oldest : job;
			closed++;
		}
	}
	if (closed > HK_COLLECTOR_JOBS_MAX) {
		DL_DELETE(collector->jobs, oldest);
		hk_job_free(collector, oldest);
	}
}

static int write_report(struct hk_job *job)
{
	Hk__Snapshot snapshot;
	int r = hk_job_snapshot(job, &snapshot);
	if (r == 0) {
		snapshot.now_unix_ns = job->state->start_unix_ns + job->state->duration_ns;
		r = hk_jobdir_report(&snapshot);
		free(snapshot.processes);
	}
	if (r == 0 && *job->state->whole) {
		r = hk_nodedir_report(job->state->directory);
	}
	return r;
}

/* Ends the processes whose end no collector saw: processes of lost nodes, and processes without a
 * segment, which an earlier collector read until it ended. Other nodes send nothing more. */
static void give_up_processes(struct hk_job *job)
{
	struct hk_process *process;
	DL_FOREACH (job->processes, process) {
		if (process->remote && !process->exited) {
			hk_process_vanish(process, "");
		} else if (!process->remote &&
			   process->state->exit_kind == HK__EXIT_KIND__EXIT_RUNNING) {
			hk_process_vanish(process,
					  "its segment was removed with the run directory, and "
					  "what it called later is unknown");
		}
		if (process->remote) {
			hk_process_account(process);
		}
	}
}

/* Writes everything that a closed job's directory holds. Returns 0, or -errno if a file could not
 * be written yet. */
static int write_end(struct hk_collector *collector, struct hk_job *job)
{
	if (!job->statistics) {
		return -EBADF;
	}
	hk_job_sum(job);
	job->state->closed = true;
	job->changed = true;
	hk_reserve_give(&job->reserve_held, job->state->directory);
	int r = hk_job_save(collector, job);
	r = r < 0 ? r : write_report(job);
	if (r < 0) {
		job->state->closed = false;
		job->changed = true;
	}
	return r;
}

/* Returns why the directory of a private collector's job is lost for good, or NULL if it is not. A
 * private collector then ends. A shared one waits for its store to come back. */
static const char *no_place(const struct hk_collector *collector, const struct hk_job *job,
			    int error)
{
	if (!collector->options.exit_with_job) {
		return NULL;
	}
	if (error == -EFBIG) {
		return "ulimit -f allows no larger file";
	}
	return error == -ENOENT && access(job->state->directory, F_OK) < 0 && errno == ENOENT
		   ? "its store was removed"
		   : NULL;
}

int hk_job_close(struct hk_collector *collector, struct hk_job *job)
{
	give_up_processes(job);
	while (hk_retention_apply(collector, job)) {
	}
	int r = hk_job_announce(collector, job, HK_JOB_ENDING);
	r = r < 0 ? r : write_end(collector, job);
	const char *given_up = r < 0 ? no_place(collector, job, r) : NULL;
	if (given_up) {
		hk_warning("job given up, %s id=%s", given_up, job->state->id);
		job->state->closed = true;
		r = 0;
	}
	if (r < 0 && r != -EAGAIN && r != job->close_error) {
		hk_warning("job not closed yet id=%s error=%s", job->state->id, strerror(-r));
	}
	job->close_error = r;
	job->close_tried_ns = hk_clock_monotonic_ns();
	if (r < 0) {
		return r;
	}
	hk_job_announce(collector, job, HK_JOB_CLOSING);
	hk_jobdir_unlink(collector->dirfd[0], HK_RUNDIR_OPEN, job->state->id);
	hk_job_announce(collector, job, HK_JOB_CLOSED);
	job->statistics = hk_statistics_free(job->statistics);
	hk_job_forget_processes(collector, job);
	job->matcher = hk_matcher_free(job->matcher);
	/* The memory of a job of a thousand ranks is hundreds of MiB, which the next job may not
	 * need. */
	malloc_trim(0);
	job->closed_ns = hk_clock_monotonic_ns();
	collector->closed_any = true;
	hk_info("job closed id=%s exit=%s", job->state->id, job->state->exit);
	forget_oldest(collector);
	return 0;
}
