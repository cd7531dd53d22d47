#include "collector/loop.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/feed/feed.h"
#include "collector/http/http.h"
#include "collector/level/governor.h"
#include "collector/level/rules.h"
#include "collector/lifecycle/discovery.h"
#include "collector/lifecycle/job_close.h"
#include "collector/lifecycle/job_quota.h"
#include "collector/lifecycle/job_save.h"
#include "collector/lifecycle/job_sum.h"
#include "collector/lifecycle/process_exit.h"
#include "collector/lifecycle/store_limit.h"
#include "collector/lifecycle/untraced.h"
#include "collector/link/leaf.h"
#include "collector/link/peers.h"
#include "collector/memory/group.h"
#include "collector/metrics/push.h"
#include "collector/metrics/walk.h"
#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/process/activity.h"
#include "collector/process/loaded.h"
#include "collector/process/naming.h"
#include "collector/process/process_state.h"
#include "collector/process/stalled.h"
#include "collector/run_directory.h"
#include "collector/server/server.h"
#include "collector/spool/drain.h"
#include "collector/spool/retention.h"
#include "collector/stack/survey.h"
#include "collector/trigger/trigger.h"

#define MS_NS 1000000u
#define PASS_BUSY_NS (10u * MS_NS)
#define PASS_QUIET_NS (50u * MS_NS)
#define PASS_EMPTY_NS (500u * MS_NS)
#define QUIET_AFTER_NS (1000u * MS_NS)
#define SECOND_NS UINT64_C(1000000000)
#define SAVE_SPACING 50u /* saving takes at most 1/50 of the time */
#define SAVE_MAX_NS (10 * SECOND_NS)
#define SAVE_TURN_NS (50u * MS_NS) /* longest saving and closing before requests are handled */
#define TRIM_NS (60 * SECOND_NS)
#define USAGE_FIRST_NS (50u * MS_NS)

#define FIXED_FDS 8 /* signals, inotify, requests, root, HTTP, names, pages, feed; then pidfds */

struct loop {
	struct hk_collector *collector;
	int signal_fd;
	struct pollfd *fds;
	size_t fd_capacity;
	struct hk_process **watched; /* process of fds[FIXED_FDS + i] */
	uint64_t next_pass_ns, next_scan_ns, next_save_ns, next_trim_ns;
	uint64_t event_ns;	/* time of the last change in a run directory */
	uint64_t save_round;	/* number of the round that saves all jobs */
	uint64_t save_spent_ns; /* time spent in this round */
	bool saving;		/* a round has begun and not ended */
	bool stop;
};

/* ---- one pass over the segments ---- */

static void read_usage(struct hk_process *process, uint64_t now)
{
	if (process->segment->usage_due_ns > now) {
		return;
	}
	hk_state_usage(process);
	if (process->segment->memory_group) {
		hk_memory_group_alive(process->segment->memory_group, now);
	}
	/* Samples come often at first, because a process may end soon, then once a second. */
	uint64_t wait = (uint64_t)USAGE_FIRST_NS
			<< (process->segment->refreshes < 5 ? process->segment->refreshes : 5);
	process->segment->usage_due_ns = now + (wait < SECOND_NS ? wait : SECOND_NS);
}

/* Samples all processes before draining, which may take long: a sample counts the calls until NOW.
 */
static void sample(struct hk_collector *collector, uint64_t now)
{
	struct hk_process *process, *next;
	HASH_ITER (hh, collector->processes, process, next) {
		if (!process->exited) {
			hk_governor_check(process, now);
			hk_activity_sample(process, now);
			if (process->segment) {
				hk_stalled_look(collector, process, now);
			}
		}
	}
}

/* Evicts old records of jobs that got new ones. */
static void slide_windows(struct hk_collector *collector, bool all)
{
	struct hk_job *job;
	DL_FOREACH (collector->jobs, job) {
		if (!job->state->closed && (all || job->grown)) {
			job->grown = hk_retention_apply(collector, job);
		}
	}
}

static void pass(struct loop *loop, uint64_t now)
{
	struct hk_collector *collector = loop->collector;
	struct hk_process *process, *next;
	hk_rules_expire(collector);
	sample(collector, now);
	HASH_ITER (hh, collector->processes, process, next) {
		int r = process->exited ? 0 : hk_drain_pass(collector, process, now);
		if (r > 0) {
			collector->moved_ns = now;
		} else if (r == -ESTALE) {
			/* The records read so far are kept; the segment yields no more. */
			hk_warning("segment is broken pid=%" PRIu32, process->state->pid);
			process->exited = true;
		} else if (r < 0) {
			hk_debug("drain failed pid=%" PRIu32 " error=%s", process->state->pid,
				 strerror(-r));
		}
		if (hk_untraced_follow(collector, process, false) < 0) {
			hk_debug("processes below pid=%" PRIu32 " not filed", process->state->pid);
		}
		if (process->foreign || process->segment->pidfd < 0) {
			hk_process_check(process);
		}
		if (process->exited && process->segment->retry_ns <= now &&
		    hk_process_finalise(collector, process) < 0) {
			process->segment->retry_ns = now + SECOND_NS;
		} else if (!process->exited) {
			read_usage(process, now);
		}
	}
	slide_windows(collector, false);
}

/* ---- once a second ---- */

static void tend(struct hk_collector *collector, struct hk_job *job, uint64_t now)
{
	if (job->state->closed) {
		return;
	}
	hk_peers_update_connected(collector, job);
	if (hk_job_lives_here(job)) {
		job->alive_ns = now;
	} else if (hk_job_should_close(collector, job, hk_peers_missing(collector, job), now) &&
		   hk_job_close_is_due(job, now) && hk_naming_settled(collector, job, now)) {
		hk_job_close(collector, job);
	}
}

static void save_job(struct hk_collector *collector, struct hk_job *job)
{
	int r = hk_job_save_due(collector, job);
	/* The error is logged once: one line a second would fill a disk. */
	if (r < 0 && r != job->save_error) {
		hk_warning("statistics not saved job=%s error=%s", job->state->id, strerror(-r));
	}
	job->save_error = r;
}

/* Removes old jobs above the store's limit. A private collector does not, and neither does a leaf,
 * because its finished jobs may not be on the root yet. */
static void trim_store(struct loop *loop, uint64_t now)
{
	const struct hk_collector_options *options = &loop->collector->options;
	bool others = !options->exit_with_job && !options->upstream;
	if (others && (now >= loop->next_trim_ns || loop->collector->closed_any)) {
		hk_store_trim(loop->collector);
		loop->collector->closed_any = false;
		loop->next_trim_ns = now + TRIM_NS;
	}
}

static void begin_round(struct loop *loop, uint64_t now)
{
	struct hk_collector *collector = loop->collector;
	struct hk_process *process, *next;
	HASH_ITER (hh, collector->processes, process, next) {
		hk_reader_beat(process->segment->reader, (uint32_t)getpid(), now);
		hk_reader_raise_generation(process->segment->reader);
		hk_process_check(
		    process); /* an exec of an untraced program is not visible otherwise */
		hk_state_refresh(collector, process, false);
		hk_loaded_refresh(collector, process, false);
	}
	slide_windows(collector, true);
	loop->save_round++;
	loop->save_spent_ns = 0;
	loop->saving = true;
}

/* Returns a job that this round has not saved yet, or NULL. Closing a job may free another, so each
 * search starts with the first. */
static struct hk_job *next_job(const struct loop *loop)
{
	struct hk_job *job;
	DL_FOREACH (loop->collector->jobs, job) {
		if (job->save_round != loop->save_round) {
			return job;
		}
	}
	return NULL;
}

/* Saves jobs, and closes those that have ended. Returns false if the whole turn since NOW was used.
 */
static bool save_jobs(struct loop *loop, uint64_t now)
{
	struct hk_job *job;
	while ((job = next_job(loop)) != NULL) {
		job->save_round = loop->save_round;
		save_job(loop->collector, job);
		tend(loop->collector, job, now);
		if (hk_clock_monotonic_ns() - now >= SAVE_TURN_NS) {
			return false;
		}
	}
	return true;
}

/* Saves jobs in turns, so that requests are handled in between, however many jobs there are. */
static void save(struct loop *loop, uint64_t now)
{
	struct hk_collector *collector = loop->collector;
	if (!loop->saving) {
		begin_round(loop, now);
	}
	loop->saving = !save_jobs(loop, now);
	loop->save_spent_ns += hk_clock_monotonic_ns() - now;
	if (loop->saving) {
		return;
	}
	trim_store(loop, now);
	hk_job_quota_count(hk_server_quota(collector->server), collector->jobs);
	hk_server_maintain(collector->server);
	hk_metrics_expire(collector, now);
	uint64_t wait = loop->save_spent_ns * SAVE_SPACING;
	wait = wait < SECOND_NS ? SECOND_NS : wait;
	loop->next_save_ns = now + (wait < SAVE_MAX_NS ? wait : SAVE_MAX_NS);
}

/* ---- waiting ---- */

static int prepare_fds(struct loop *loop, size_t *ret_count)
{
	struct hk_collector *collector = loop->collector;
	size_t wanted = FIXED_FDS + HASH_COUNT(collector->processes);
	if (wanted > loop->fd_capacity) {
		struct pollfd *fds = realloc(loop->fds, 2 * wanted * sizeof(*fds));
		if (!fds) {
			return -ENOMEM;
		}
		loop->fds = fds;
		struct hk_process **watched =
		    realloc(loop->watched, 2 * wanted * sizeof(struct hk_process *));
		if (!watched) {
			return -ENOMEM;
		}
		loop->watched = watched;
		loop->fd_capacity = 2 * wanted;
	}
	loop->fds[0] = (struct pollfd){loop->signal_fd, POLLIN, 0};
	loop->fds[1] = (struct pollfd){collector->inotify_fd, POLLIN, 0};
	loop->fds[2] = (struct pollfd){hk_server_fd(collector->server), POLLIN, 0};
	/* poll() ignores negative descriptors. */
	loop->fds[3] =
	    (struct pollfd){collector->leaf ? hk_leaf_fd(collector->leaf) : -1, POLLIN, 0};
	loop->fds[4] = (struct pollfd){hk_http_fd(collector->http), POLLIN, 0};
	loop->fds[5] = (struct pollfd){hk_naming_fd(collector->naming), POLLIN, 0};
	loop->fds[6] = (struct pollfd){hk_http_live_fd(collector->http), POLLIN, 0};
	loop->fds[7] =
	    (struct pollfd){collector->feed ? hk_feed_fd(collector->feed) : -1, POLLIN, 0};
	size_t count = FIXED_FDS;
	struct hk_process *process, *next;
	HASH_ITER (hh, collector->processes, process, next) {
		if (process->segment->pidfd >= 0 && !process->exited) {
			loop->watched[count] = process;
			loop->fds[count++] = (struct pollfd){process->segment->pidfd, POLLIN, 0};
		}
	}
	*ret_count = count;
	return 0;
}

static uint64_t earliest(const struct loop *loop)
{
	uint64_t at = loop->next_pass_ns;
	at = loop->next_scan_ns < at ? loop->next_scan_ns : at;
	if (loop->collector->gather) {
		uint64_t step = hk_clock_monotonic_ns() + HK_SURVEY_STEP_NS;
		at = step < at ? step : at;
	}
	if (loop->collector->leaf) {
		uint64_t due = hk_leaf_due(loop->collector->leaf);
		at = due < at ? due : at;
	}
	if (loop->collector->feed) {
		uint64_t due = hk_feed_due(loop->collector->feed);
		at = due < at ? due : at;
	}
	return loop->next_save_ns < at ? loop->next_save_ns : at;
}

/* Looks at each descriptor alone, after WAIT_NS nanoseconds at most. poll() takes no more
 * descriptors at once than files may be open (RLIMIT_NOFILE), and that can be lowered while the
 * collector runs.
 */
static int poll_singly(struct pollfd *fds, size_t count, uint64_t wait_ns)
{
	const struct timespec pause = {0, wait_ns < PASS_BUSY_NS ? (long)wait_ns : PASS_BUSY_NS};
	int ready = 0;
	nanosleep(&pause, NULL);
	for (size_t i = 0; i < count; i++) {
		ready += poll(&fds[i], 1, 0) > 0;
	}
	return ready;
}

/* Waits for an event or the next due time, and marks processes that have ended. */
static int wait_events(struct loop *loop)
{
	size_t count;
	int r = prepare_fds(loop, &count);
	if (r < 0) {
		return r;
	}
	uint64_t now = hk_clock_monotonic_ns(), due = earliest(loop);
	uint64_t wait = due > now ? due - now : 0;
	const struct timespec timeout = {(time_t)(wait / SECOND_NS), (long)(wait % SECOND_NS)};
	r = ppoll(loop->fds, count, &timeout, NULL);
	if (r < 0 && errno == EINVAL) {
		r = poll_singly(loop->fds, count, wait);
	}
	if (r < 0) {
		return errno == EINTR ? 0 : -errno;
	}
	for (size_t i = FIXED_FDS; i < count && r > 0; i++) {
		if (loop->fds[i].revents != 0) {
			hk_process_check(loop->watched[i]);
			/* The pidfd says that the process has ended, whatever /proc still shows. */
			loop->watched[i]->exited = true;
			loop->next_pass_ns = 0;
		}
	}
	return r;
}

static uint64_t pass_after(const struct loop *loop, uint64_t now)
{
	struct hk_collector *collector = loop->collector;
	uint64_t wait = PASS_EMPTY_NS;
	if (HASH_COUNT(collector->processes) > 0) {
		wait = now - collector->moved_ns < QUIET_AFTER_NS ? PASS_BUSY_NS : PASS_QUIET_NS;
	} else if (hk_server_waits(collector->server) || hk_http_waits(collector->http)) {
		wait = PASS_BUSY_NS;
	}
	return now + wait;
}

static bool job_done(const struct hk_collector *collector)
{
	const struct hk_job *job;
	DL_FOREACH (collector->jobs, job) {
		if (!job->state->closed) {
			return false;
		}
	}
	return HASH_COUNT(collector->processes) == 0 && !hk_server_waits(collector->server) &&
	       (!collector->leaf || hk_leaf_done(collector->leaf));
}

/* Closes complete jobs soon. Saves come less often the longer they take, and a complete job would
 * wait for its turn while its report is wanted and its memory is held. */
static void close_soon(struct loop *loop, uint64_t now)
{
	if (loop->collector->some_complete && now + SECOND_NS < loop->next_save_ns) {
		loop->next_save_ns = now + SECOND_NS;
	}
	loop->collector->some_complete = false;
}

/* Takes in what a stream engine has. Returns 0, or -ESTALE if nothing may be written any more. */
static int feed(struct loop *loop, uint64_t now)
{
	struct hk_collector *collector = loop->collector;
	int r = collector->feed ? hk_feed_run(collector, collector->feed, now) : 0;
	if (r == 0 && collector->feed) {
		close_soon(loop, now);
		loop->stop |= hk_feed_is_done(collector->feed);
	}
	return r;
}

static void step(struct loop *loop)
{
	struct hk_collector *collector = loop->collector;
	uint64_t now = hk_clock_monotonic_ns();
	if (loop->fds[1].revents != 0 || now >= loop->next_scan_ns) {
		hk_discovery_clear(collector);
		hk_run_directory_check(collector);
		hk_discovery_run(collector);
		if (loop->fds[1].revents != 0) {
			loop->event_ns = now;
		}
		/* The event comes when a segment is created; its agent needs a moment more to write
		 * it. */
		bool soon = collector->unfinished > 0 && now - loop->event_ns < SECOND_NS;
		loop->next_scan_ns = now + (soon ? PASS_BUSY_NS : SECOND_NS);
		loop->next_pass_ns =
		    HASH_COUNT(collector->processes) > 0 ? now : loop->next_pass_ns;
	}
	bool passes = now >= loop->next_pass_ns;
	if (passes) {
		pass(loop, now);
		hk_triggers_run(collector, now);
		hk_metrics_push(collector, now);
		loop->next_pass_ns = pass_after(loop, now);
	}
	if (passes || loop->fds[5].revents != 0) {
		hk_naming_run(collector, now);
	}
	if (loop->fds[2].revents != 0 || hk_server_waits(collector->server)) {
		hk_server_run(collector->server);
		/* A request may bring the next pass forward but never delay it. */
		uint64_t next = pass_after(loop, now);
		loop->next_pass_ns = next < loop->next_pass_ns ? next : loop->next_pass_ns;
		close_soon(loop, now);
	}
	if (loop->fds[4].revents != 0 || loop->fds[6].revents != 0 ||
	    hk_http_waits(collector->http)) {
		hk_http_run(collector, collector->http);
	}
	if (now >= loop->next_save_ns) {
		save(loop, now);
		loop->stop |=
		    !loop->saving && collector->options.exit_with_job && job_done(collector);
	}
	if (collector->leaf) {
		hk_leaf_run(collector, now);
	}
}

/* Makes the last pass. The processes may live on, and the next collector continues where this one
 * stops. */
static void finish(struct loop *loop)
{
	struct hk_collector *collector = loop->collector;
	struct hk_process *process, *next;
	struct hk_job *job;
	hk_discovery_run(collector);
	HASH_ITER (hh, collector->processes, process, next) {
		hk_process_check(process);
		if (process->exited && hk_process_finalise(collector, process) == 0) {
			continue;
		}
		hk_drain_seal(collector, process);
		hk_state_refresh(collector, process, true);
	}
	DL_FOREACH (collector->jobs, job) {
		if (!job->state->closed) {
			save_job(collector, job);
		}
	}
}

/* A second signal ends the process at once. */
static void let_signals_through(void)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

int hk_loop_run(struct hk_collector *collector, int signal_fd)
{
	struct loop loop = {.collector = collector, .signal_fd = signal_fd};
	int r = 0;
	while (!loop.stop) {
		r = wait_events(&loop);
		if (r < 0) {
			break;
		}
		if (loop.fds[0].revents != 0) {
			struct signalfd_siginfo info;
			(void)!read(signal_fd, &info, sizeof(info));
			hk_info("leaving signal=%u", info.ssi_signo);
			let_signals_through();
			break;
		}
		r = feed(&loop, hk_clock_monotonic_ns());
		if (r < 0) {
			break;
		}
		step(&loop);
	}
	if (r != -ESTALE) {
		finish(&loop);
	}
	free(loop.fds);
	free(loop.watched);
	return r < 0 ? r : 0;
}
