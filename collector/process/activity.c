#include "collector/process/activity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "collector/model/attachment.h"
#include "collector/model/process.h"
#include "collector/proc/procfs.h"
#include "collector/process/course.h"
#include "report/model/domains.h"
#include "ring/sample.h"

#define MS_NS UINT64_C(1000000)
#define LOOK_NS (20 * MS_NS)	   /* least time between two samples */
#define LOOK_SPACING 500u	   /* sampling takes at most 1/500 of a processor's time */
#define BIN_NS (16 * MS_NS)	   /* width of the first bins, up to twice as much */
#define UNSEEN_NS (1000 * MS_NS)   /* samples further apart do not show when something happened */
#define SAMPLED_NS (500 * MS_NS)   /* most time between two samples, for `quiet_ticks` */
#define QUIET_SHARE 2000u	   /* a quiet process is in calls for 1/2000 of the time */
#define QUIET_BURST_NS (5 * MS_NS) /* what that share is of ten seconds */

struct hk_activity {
	struct hk_course course;
	uint64_t due_ns; /* monotonic */
	uint64_t unseen_ns;
	bool moved;	      /* a row changed after the state was updated */
	uint64_t returned_ns; /* in calls that returned and do not only wait */
	uint64_t excess_ns;   /* of these, what is more than the share of a quiet process */
	uint64_t quiet_ticks; /* the last time at which that was more than the burst */
	struct hk_course_row **row_of; /* row of each site; NULL: not known yet */
	uint32_t site_count;
	/* Totals of the rows, valid during a sample. */
	uint64_t calls, worked_ns, waited_ns, usual_ns;
	struct sum {
		struct hk_course_row *row;
		uint64_t ns;
	} sums[HK_COURSE_DOMAINS];
	uint32_t sum_count;
};

struct hk_activity *hk_activity_free(struct hk_activity *activity)
{
	if (activity) {
		hk_course_fini(&activity->course);
		free(activity->row_of);
		free(activity);
	}
	return NULL;
}

static struct hk_activity *activity_new(const Hk__Process *state)
{
	struct hk_activity *activity = calloc(1, sizeof(*activity));
	uint32_t shift = 0;
	while (shift < HK_COURSE_SHIFT_MAX &&
	       hk_clock_ticks_to_ns(UINT64_C(1) << shift, state->tick_ns_q32) < BIN_NS) {
		shift++;
	}
	if (activity) {
		hk_course_begin(&activity->course, state->start->ticks, shift);
	}
	return activity;
}

void hk_activity_inherit(struct hk_process *process, const Hk__Process *frame)
{
	struct hk_activity *activity = calloc(1, sizeof(*activity));
	if (!activity || !frame->seen ||
	    hk_course_recover(&activity->course, frame, frame->seen->ticks) < 0) {
		hk_activity_free(activity);
		return;
	}
	const struct hk_course_row *unseen =
	    hk_course_find(&activity->course, HK__ACTIVITY_KIND__ACTIVITY_UNSEEN, "");
	activity->unseen_ns = unseen ? unseen->total : 0;
	activity->moved = true; /* the current state lacks the row */
	process->segment->activity = activity;
}

/* ---- one sample ---- */

static bool make_room(struct hk_activity *activity, uint32_t sites)
{
	if (sites <= activity->site_count) {
		return true;
	}
	struct hk_course_row **larger =
	    realloc(activity->row_of, sites * sizeof(struct hk_course_row *));
	if (!larger) {
		return false;
	}
	memset(larger + activity->site_count, 0,
	       (sites - activity->site_count) * sizeof(struct hk_course_row *));
	activity->row_of = larger;
	activity->site_count = sites;
	return true;
}

/* Returns the row of SITE, or NULL if the site is not readable yet or memory is short. */
static struct hk_course_row *row_of(struct hk_process *process, uint32_t site)
{
	struct hk_activity *activity = process->segment->activity;
	if (site >= activity->site_count) {
		return NULL;
	}
	if (!activity->row_of[site]) {
		const struct hk_site_info *info = hk_reader_site(process->segment->reader, site);
		activity->row_of[site] =
		    info ? hk_course_row(&activity->course, HK__ACTIVITY_KIND__ACTIVITY_DOMAIN,
					 info->domain)
			 : NULL;
	}
	return activity->row_of[site];
}

static void add_sum(struct hk_activity *activity, struct hk_course_row *row, uint64_t ns)
{
	uint32_t i = 0;
	while (i < activity->sum_count && activity->sums[i].row != row) {
		i++;
	}
	if (i == activity->sum_count) {
		if (i == HK_COURSE_DOMAINS) {
			return;
		}
		activity->sums[activity->sum_count++] = (struct sum){row, 0};
	}
	activity->sums[i].ns += ns;
}

static int sum_cells(struct hk_process *process)
{
	struct hk_activity *activity = process->segment->activity;
	struct hk_cell_copy cell;
	uint64_t cursor = 0;
	int r;
	activity->sum_count = 0;
	activity->calls = activity->worked_ns = activity->waited_ns = activity->usual_ns = 0;
	while ((r = hk_reader_next_cell(process->segment->reader, &cursor, &cell)) > 0) {
		struct hk_course_row *row = row_of(process, cell.site);
		activity->calls += cell.calls;
		if (row) {
			add_sum(activity, row,
				hk_sample_weighted(cell.outermost_ns, cell.sampled_outermost_ns));
		}
	}
	return r;
}

/* Finds since when PROCESS is quiet. Its open calls are left out: a thread that is blocked in a
 * call makes no progress. */
static void look_for_quiet(struct hk_activity *activity, uint64_t span_ns, uint64_t now_ticks)
{
	uint64_t returned_ns = 0, before_ns = activity->returned_ns;
	for (uint32_t i = 0; i < activity->sum_count; i++) {
		returned_ns +=
		    hk_domain_is_idle(activity->sums[i].row->domain) ? 0 : activity->sums[i].ns;
	}
	activity->returned_ns = returned_ns > before_ns ? returned_ns : before_ns;
	uint64_t share_ns = span_ns / QUIET_SHARE;
	activity->excess_ns += activity->returned_ns - before_ns;
	activity->excess_ns -= share_ns < activity->excess_ns ? share_ns : activity->excess_ns;
	if (activity->quiet_ticks == 0 || activity->excess_ns > QUIET_BURST_NS) {
		activity->excess_ns = 0;
		activity->quiet_ticks = now_ticks;
	}
}

/* Adds the open calls of a thread, which its cells lack: of each domain the outermost one. */
static void sum_open_calls(struct hk_process *process, const struct hk_thread_copy *thread,
			   uint64_t now_ticks)
{
	const struct hk_course_row *inside[HK_OPEN_CALLS];
	uint32_t depth = 0;
	for (uint32_t i = 0; i < thread->open_count && thread->state == HK_SLOT_LIVE; i++) {
		const struct hk_open_call_copy *open = &thread->open[i];
		struct hk_course_row *row = row_of(process, open->site);
		uint32_t k = 0;
		while (k < depth && inside[k] != row) {
			k++;
		}
		if (row && k == depth && open->start_ticks < now_ticks) {
			inside[depth++] = row;
			add_sum(process->segment->activity, row,
				hk_clock_ticks_to_ns(now_ticks - open->start_ticks,
						     process->state->tick_ns_q32));
		}
	}
}

static int sum_calls(struct hk_process *process, uint64_t span_ns, uint64_t now_ticks)
{
	struct hk_thread_copy thread;
	uint64_t cursor = 0;
	int r = hk_reader_refresh(process->segment->reader, &process->segment->status);
	if (r == 0 && (process->segment->status.sites > HK_SITES_MAX ||
		       !make_room(process->segment->activity, process->segment->status.sites))) {
		r = -ENOMEM;
	}
	r = r < 0 ? r : sum_cells(process);
	if (r >= 0) {
		look_for_quiet(process->segment->activity, span_ns, now_ticks);
	}
	while (r >= 0 &&
	       (r = hk_reader_next_thread(process->segment->reader, &cursor, &thread)) > 0) {
		process->segment->activity->worked_ns += thread.worked_ns;
		process->segment->activity->waited_ns += thread.waited_ns;
		process->segment->activity->usual_ns += thread.usual_ns;
		sum_open_calls(process, &thread, now_ticks);
	}
	return r;
}

/* Adds to the row of KIND, which is made with its first time. */
static void add_row(struct hk_course *course, Hk__ActivityKind kind, uint64_t total,
		    uint64_t from_ticks, uint64_t now_ticks)
{
	struct hk_course_row *row = total > 0 ? hk_course_row(course, kind, "") : NULL;
	if (row) {
		hk_course_add(course, row, total, from_ticks, now_ticks);
	}
}

/* Adds the work of all threads. A stretch of work becomes known at its end, which may be long after
 * its start. */
static void add_work(struct hk_process *process, uint64_t now_ticks)
{
	struct hk_activity *activity = process->segment->activity;
	struct hk_course *course = &activity->course;
	const struct hk_course_row *row =
	    hk_course_find(course, HK__ACTIVITY_KIND__ACTIVITY_WORK, "");
	uint64_t worked = row ? row->total : 0;
	row = hk_course_find(course, HK__ACTIVITY_KIND__ACTIVITY_WAITING, "");
	uint64_t lasted =
	    activity->worked_ns + activity->waited_ns - worked - (row ? row->total : 0);
	double ticks = (double)lasted * 4294967296.0 / (double)process->state->tick_ns_q32;
	uint64_t since = now_ticks - course->start_ticks;
	uint64_t from = ticks < (double)since ? now_ticks - (uint64_t)ticks : course->start_ticks;
	add_row(course, HK__ACTIVITY_KIND__ACTIVITY_WORK, activity->worked_ns, from, now_ticks);
	add_row(course, HK__ACTIVITY_KIND__ACTIVITY_WAITING, activity->waited_ns, from, now_ticks);
	add_row(course, HK__ACTIVITY_KIND__ACTIVITY_USUAL, activity->usual_ns, from, now_ticks);
}

/* Adds how long the process waited for a processor. A pid of another namespace means nothing here,
 * and that of a process that has ended may be another one's. */
static void add_delay(struct hk_process *process, bool ended, uint64_t now_ticks)
{
	uint64_t delay_ns;
	if (!ended && !process->exited && !process->foreign &&
	    hk_procfs_delay(process->state->pid, &delay_ns) == 0) {
		add_row(&process->segment->activity->course, HK__ACTIVITY_KIND__ACTIVITY_DELAY,
			delay_ns, now_ticks, now_ticks);
	}
}

static void sample(struct hk_process *process)
{
	struct hk_activity *activity = process->segment->activity;
	struct hk_course *course = &activity->course;
	const struct hk_segment_status *status = &process->segment->status;
	uint64_t now_ticks = hk_clock_ticks(process->state->clock_kind == HK_CLOCK_TSC);
	uint64_t span_ns =
	    now_ticks > course->until_ticks
		? hk_clock_ticks_to_ns(now_ticks - course->until_ticks, process->state->tick_ns_q32)
		: 0;
	if (sum_calls(process, span_ns, now_ticks) < 0) {
		return;
	}
	bool ended = status->state == HK_STATE_EXITED && status->end.ticks < now_ticks;
	now_ticks = ended ? status->end.ticks : now_ticks;
	/* An earlier collector may have noted a time after its last sample, and the process may
	 * have ended between the two. */
	now_ticks = now_ticks > course->until_ticks ? now_ticks : course->until_ticks;
	span_ns =
	    hk_clock_ticks_to_ns(now_ticks - course->until_ticks, process->state->tick_ns_q32);
	hk_course_reach(course, now_ticks);
	for (uint32_t i = 0; i < activity->sum_count; i++) {
		hk_course_add(course, activity->sums[i].row, activity->sums[i].ns, now_ticks,
			      now_ticks);
	}
	add_row(course, HK__ACTIVITY_KIND__ACTIVITY_CALLS, activity->calls, now_ticks, now_ticks);
	add_work(process, now_ticks);
	add_delay(process, ended, now_ticks);
	if (span_ns > UNSEEN_NS) {
		activity->unseen_ns += span_ns;
	}
	add_row(course, HK__ACTIVITY_KIND__ACTIVITY_UNSEEN, activity->unseen_ns, now_ticks,
		now_ticks);
	hk_course_end(course, now_ticks);
	activity->moved = true;
}

/* Returns the processor time of this thread. Time spent waiting for a processor is not counted. */
static uint64_t spent_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns whether PROCESS is to be sampled. Many processes end soon and are not. */
static bool is_wanted(struct hk_process *process)
{
	const Hk__Process *state = process->state;
	struct hk_attachment *segment = process->segment;
	if (segment && !segment->activity && state->role == HK__ROLE__ROLE_MAIN) {
		segment->activity = activity_new(state);
	}
	return segment && segment->activity;
}

void hk_activity_sample(struct hk_process *process, uint64_t now_ns)
{
	if (!is_wanted(process) || now_ns < process->segment->activity->due_ns) {
		return;
	}
	struct hk_activity *activity = process->segment->activity;
	uint64_t begin_ns = spent_ns();
	sample(process);
	uint64_t wait_ns = (spent_ns() - begin_ns) * LOOK_SPACING;
	uint64_t bin_ns = hk_clock_ticks_to_ns(UINT64_C(1) << activity->course.shift,
					       process->state->tick_ns_q32);
	bin_ns = bin_ns < SAMPLED_NS ? bin_ns : SAMPLED_NS;
	wait_ns = wait_ns > bin_ns ? wait_ns : bin_ns;
	activity->due_ns = now_ns + (wait_ns > LOOK_NS ? wait_ns : LOOK_NS);
}

void hk_activity_sample_last(struct hk_process *process)
{
	if (is_wanted(process)) {
		sample(process);
	}
}

int hk_activity_refresh(struct hk_process *process)
{
	struct hk_activity *activity = process->segment->activity;
	if (!activity || !activity->moved) {
		return 0;
	}
	activity->moved = false;
	process->state->quiet_ticks = activity->quiet_ticks;
	return hk_course_write(&activity->course, process->state);
}
