#include "cli/delay/history_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <uthash.h>

#include "cli/export/activity.h"
#include "cli/steps/marker.h"
#include "cli/steps/steps.h"
#include "cli/tables/stack_digests.h"
#include "cli/tables/stack_rows.h"
#include "cli/timeline/timeline.h"
#include "cli/waits/wait_events.h"
#include "hooks/hook.h"
#include "report/model/domains.h"
#include "report/model/role.h"
#include "text/step_name.h"
#include "wire/columns.h"

/* The activity of a call site with a stack. */
struct known {
	struct {
		const struct hk_export_site *site;
		uint64_t stack;
	} key;
	uint32_t activity;
	UT_hash_handle hh;
};

/* The open calls of a lane's thread. */
struct opened {
	uint32_t *list; /* activities; HK_NO_ACTIVITY: none */
	size_t count, room;
	size_t opaque;	/* calls in one that communicates, itself included */
	uint64_t at_ns; /* time up to which pieces were added */
};

struct hk_exporter {
	struct hk_history *history;
	struct hk_wait_events *events;
	struct opened *opened;		  /* of each lane */
	size_t *place;			  /* of each process: its lane, or SIZE_MAX */
	struct hk_stack_digests *digests; /* of each process */
	size_t process_count;
	struct known *known;
};

/* ---- activities ---- */

static bool is_comm(const struct hk_export_site *site)
{
	return strcmp(site->domain, "mpi") == 0 || site->meaning == HK_MEANING_SEND ||
	       site->meaning == HK_MEANING_RECV || site->meaning == HK_MEANING_COLLECTIVE;
}

/* Returns whether calls of SITE may end when work of a device does. */
static bool syncs(const struct hk_export_site *site)
{
	return (site->meaning == HK_MEANING_WAIT && strcmp(site->domain, "mpi") != 0 &&
		!hk_domain_is_idle(site->domain)) ||
	       (site->meaning == HK_MEANING_COPY && !strcasestr(site->function, "async"));
}

static int64_t activity_make(struct hk_exporter *exporter, const struct hk_export_process *process,
			     const struct hk_slice *slice)
{
	const struct hk_stack_digests *digests = &exporter->digests[process->index];
	const struct hk_export_site *site = slice->site;
	struct hk_activity activity = {
	    .function = site->function,
	    .kind = hk_meaning_is_activity(site->meaning) ? HK_WORK_DEVICE
		    : site->meaning == HK_MEANING_RANGE	  ? HK_WORK_OWN
		    : is_comm(site)			  ? HK_WORK_COMM
							  : HK_WORK_CALL,
	    .syncs = syncs(site),
	};

	if (process->stacks && slice->stack > 0 && slice->stack <= digests->frames) {
		activity.process = process->stacks;
		activity.stack = slice->stack;
		activity.digest = digests->list[slice->stack];
	}
	return hk_history_activity(exporter->history, &activity);
}

/* Returns the number of SLICE's activity, or -ENOMEM. */
static int64_t activity_of(struct hk_exporter *exporter, const struct hk_export_process *process,
			   const struct hk_slice *slice)
{
	struct known *known, like;

	memset(&like, 0, sizeof(like));
	like.key.site = slice->site;
	like.key.stack = slice->stack;
	HASH_FIND(hh, exporter->known, &like.key, sizeof(like.key), known);
	if (known) {
		return known->activity;
	}
	int64_t number = activity_make(exporter, process, slice);
	known = number >= 0 ? malloc(sizeof(*known)) : NULL;
	if (!known) {
		return -ENOMEM;
	}
	*known = like;
	known->activity = (uint32_t)number;
	HASH_ADD(hh, exporter->known, key, sizeof(known->key), known);
	if (!known->hh.tbl) {
		free(known);
		return -ENOMEM;
	}
	return number;
}

/* ---- waits ---- */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool is_of_all(enum hk_wait_pattern pattern)
{
	return pattern == HK_WAIT_BARRIER || pattern == HK_WAIT_ALL;
}

static int wait_found(void *context, const struct hk_wait_event *event)
{
	struct hk_exporter *exporter = context;
	size_t lane = hk_history_lane(exporter->history, event->rank);
	size_t awaited = hk_history_lane(exporter->history, event->awaited);
	bool all = is_of_all(event->pattern);
	const struct hk_lane_wait wait = {
	    .start_ns = event->start_ns,
	    .until_ns = event->until_ns,
	    .aligned_ns = later(event->end_ns, event->awaited_end_ns),
	    .lane = (uint32_t)lane,
	    .awaited = (uint32_t)awaited,
	    .comm = all ? (uint32_t)(event->comm ^ event->comm >> 32) | 1 : 0,
	    .joint = (uint32_t)(event->joint >> 32),
	    .certain = event->certain,
	    .rivalled = event->rivalled,
	};

	return lane == SIZE_MAX || awaited == SIZE_MAX || lane == awaited
		   ? 0
		   : hk_history_wait(exporter->history, &wait);
}

/* ---- the timeline ---- */

static struct hk_exporter *history_create(const struct hk_export_target *target)
{
	struct hk_exporter *exporter = calloc(1, sizeof(*exporter));

	if (!exporter) {
		return NULL;
	}
	exporter->history = target->context;
	exporter->events = hk_wait_events_new(wait_found, exporter);
	if (!exporter->events) {
		free(exporter);
		return NULL;
	}
	return exporter;
}

static bool is_lane(const struct hk_export_process *process)
{
	return process->rank >= 0 && strcmp(process->role, "main") == 0;
}

/* Makes a lane for each rank. Processes come by rank: one that another program follows by exec is
 * the same. */
static int lanes_make(struct hk_exporter *exporter, const struct hk_export_job *job)
{
	struct hk_history *history = exporter->history;
	int rc = hk_history_init(history, job->process_count);

	history->lane_count = 0;
	for (size_t i = 0; rc == 0 && i < job->process_count; i++) {
		const struct hk_export_process *process = job->processes[i];
		exporter->place[process->index] = SIZE_MAX;
		if (!is_lane(process)) {
			continue;
		}
		if (history->lane_count == 0 ||
		    history->lanes[history->lane_count - 1].rank != process->rank) {
			history->lanes[history->lane_count++].rank = process->rank;
		}
		exporter->place[process->index] = history->lane_count - 1;
		history->clock_error_ns = later(history->clock_error_ns, process->clock_error_ns);
		rc = process->stacks ? hk_stack_digests_make(&exporter->digests[process->index],
							     process->stacks)
				     : 0;
	}
	return rc;
}

/* Adds the calls of PROCESS by its statistics, some of which records may lack. */
static void statistics_add(struct hk_history *history, const Hk__Process *process)
{
	struct hk_columns_walk walk = {.columns = process->cells};
	struct hk_columns_row row;
	size_t lane = hk_history_lane(history, hk_report_rank_of(process)), at = 0;

	while (lane != SIZE_MAX && process->role == HK__ROLE__ROLE_MAIN &&
	       hk_columns_next(&walk, &row)) {
		while (at < process->n_sites && process->sites[at]->id < row.site) {
			at++;
		}
		if (at < process->n_sites && process->sites[at]->id == row.site) {
			bool mpi = strcmp(process->sites[at]->domain, "mpi") == 0;
			history->lanes[lane].mpi_calls += mpi ? row.calls : 0;
			history->lanes[lane].calls += mpi ? 0 : row.calls;
		}
	}
}

static int history_begin(struct hk_exporter *exporter, const struct hk_export_job *job)
{
	size_t room = job->process_count + 1;

	exporter->process_count = job->process_count;
	exporter->place = calloc(room, sizeof(*exporter->place));
	exporter->opened = calloc(room, sizeof(*exporter->opened));
	exporter->digests = calloc(room, sizeof(*exporter->digests));
	if (!exporter->place || !exporter->opened || !exporter->digests) {
		return -ENOMEM;
	}
	int rc = lanes_make(exporter, job);
	exporter->history->origin_ns = job->origin_ns;
	for (size_t i = 0; rc == 0 && i < job->snapshot->n_processes; i++) {
		statistics_add(exporter->history, job->snapshot->processes[i]);
	}
	return rc;
}

static int history_doubt(struct hk_exporter *exporter, const struct hk_export_process *process,
			 uint64_t time_ns)
{
	size_t number = exporter->place[process->index];

	if (number != SIZE_MAX) {
		struct hk_lane *lane = &exporter->history->lanes[number];
		lane->doubt_ns = time_ns < lane->doubt_ns ? time_ns : lane->doubt_ns;
	}
	return 0;
}

/* Adds the time of the innermost open call up to TIME_NS. */
static int piece_end(struct hk_exporter *exporter, size_t lane, uint64_t time_ns)
{
	struct opened *opened = &exporter->opened[lane];
	uint32_t activity = opened->count > 0 ? opened->list[opened->count - 1] : HK_NO_ACTIVITY;
	uint64_t from_ns = opened->at_ns;

	opened->at_ns = time_ns;
	return activity == HK_NO_ACTIVITY
		   ? 0
		   : hk_history_piece(exporter->history, lane, activity, from_ns, time_ns);
}

static int push(struct opened *opened, uint32_t activity)
{
	if (opened->count == opened->room) {
		size_t room = opened->room > 0 ? 2 * opened->room : 16;
		uint32_t *list = reallocarray(opened->list, room, sizeof(*list));
		if (!list) {
			return -ENOMEM;
		}
		opened->list = list;
		opened->room = room;
	}
	opened->list[opened->count++] = activity;
	return 0;
}

static bool is_named(const struct hk_slice *slice, const char *name)
{
	return strncasecmp(slice->site->function, name, strlen(name)) == 0;
}

static size_t lane_of(const struct hk_exporter *exporter, const struct hk_export_thread *thread)
{
	return thread->is_main ? exporter->place[thread->process->index] : SIZE_MAX;
}

static int call_open(struct hk_exporter *exporter, size_t lane,
		     const struct hk_export_process *process, const struct hk_slice *slice)
{
	struct opened *opened = &exporter->opened[lane];
	struct hk_lane *shown = &exporter->history->lanes[lane];

	if (is_named(slice, "MPI_Finalize") && shown->end_ns == 0) {
		shown->end_ns = slice->start_ns;
	}
	if (opened->opaque > 0) {
		opened->opaque++;
		return 0;
	}
	if (slice->site->meaning == HK_MEANING_RANGE && hk_is_step_name(slice->site->function)) {
		/* A step is all that is in it. */
		return push(opened,
			    opened->count > 0 ? opened->list[opened->count - 1] : HK_NO_ACTIVITY);
	}
	int64_t activity = activity_of(exporter, process, slice);
	int rc = activity < 0 ? (int)activity : piece_end(exporter, lane, slice->start_ns);
	rc = rc < 0 ? rc : push(opened, (uint32_t)activity);
	opened->at_ns = slice->start_ns;
	opened->opaque = hk_steps_waits(slice->site);
	return rc;
}

static int call_close(struct hk_exporter *exporter, size_t lane, const struct hk_slice *slice)
{
	struct opened *opened = &exporter->opened[lane];
	struct hk_lane *shown = &exporter->history->lanes[lane];

	if (opened->opaque > 1) {
		opened->opaque--;
		return 0;
	}
	if (is_named(slice, "MPI_Init") &&
	    strcasecmp(slice->site->function, "MPI_Initialized") != 0 && shown->begin_ns == 0) {
		shown->begin_ns = slice->end_ns;
	}
	opened->opaque = 0;
	int rc = piece_end(exporter, lane, slice->end_ns);
	opened->count -= opened->count > 0;
	return rc;
}

static int history_open(struct hk_exporter *exporter, struct hk_export_thread *thread,
			const struct hk_slice *slice)
{
	size_t place = exporter->place[thread->process->index];
	size_t lane = lane_of(exporter, thread);
	int rc = hk_wait_events_open(exporter->events, thread, slice);

	if (place != SIZE_MAX) {
		bool mpi = strcmp(slice->site->domain, "mpi") == 0;
		exporter->history->lanes[place].mpi_recorded += mpi;
		exporter->history->lanes[place].recorded += !mpi;
	}
	return rc < 0 || lane == SIZE_MAX ? rc : call_open(exporter, lane, thread->process, slice);
}

static int history_close(struct hk_exporter *exporter, struct hk_export_thread *thread,
			 const struct hk_slice *slice)
{
	size_t lane = lane_of(exporter, thread);
	int rc = hk_wait_events_close(exporter->events, thread, slice);

	return rc < 0 || lane == SIZE_MAX ? rc : call_close(exporter, lane, slice);
}

static int history_instant(struct hk_exporter *exporter, struct hk_export_thread *thread,
			   const struct hk_slice *slice)
{
	size_t lane = exporter->place[thread->process->index];
	struct hk_device_activity activity;

	if (lane == SIZE_MAX) {
		return 0;
	}
	exporter->history->lanes[lane].recorded++;
	if (!hk_activity_read(slice, &activity) || activity.device < 0) {
		return 0;
	}
	int64_t number = activity_of(exporter, thread->process, slice);
	const struct hk_device_piece piece = {
	    .start_ns = activity.start_ns,
	    .end_ns = activity.end_ns,
	    .submitted_ns = activity.submitted_ns,
	    .stream = (uint32_t)(activity.stream ^ activity.stream >> 32) * 31 +
		      (uint32_t)activity.device,
	    .activity = (uint32_t)number,
	};
	return number < 0 ? (int)number : hk_history_device(exporter->history, lane, &piece);
}

static int history_flows(struct hk_exporter *exporter, const struct hk_export_flows *flows)
{
	(void)exporter;
	(void)flows;
	return 0;
}

static int history_end(struct hk_exporter *exporter)
{
	int rc = hk_wait_events_finish(exporter->events);

	exporter->history->doubtful = hk_wait_events_counts(exporter->events).doubtful;
	return rc < 0 ? rc : hk_history_finish(exporter->history);
}

static void history_free(struct hk_exporter *exporter)
{
	struct known *known, *next;

	if (!exporter) {
		return;
	}
	HASH_ITER (hh, exporter->known, known, next) {
		HASH_DEL(exporter->known, known);
		free(known);
	}
	for (size_t i = 0; i < exporter->process_count; i++) {
		free(exporter->digests ? exporter->digests[i].list : NULL);
		free(exporter->opened ? exporter->opened[i].list : NULL);
	}
	hk_wait_events_free(exporter->events);
	free(exporter->digests);
	free(exporter->opened);
	free(exporter->place);
	free(exporter);
}

static const struct hk_exporter_ops ops = {
    .format = "history",
    .suffix = "",
    .create = history_create,
    .begin = history_begin,
    .doubt = history_doubt,
    .open = history_open,
    .close = history_close,
    .instant = history_instant,
    .flows = history_flows,
    .end = history_end,
    .free = history_free,
};

int hk_history_read(const Hk__Snapshot *snapshot, const char *directory,
		    struct hk_history *ret_history)
{
	const struct hk_timeline_options options = {
	    .from_ns = INT64_MIN, .to_ns = INT64_MAX, .functions = hk_stack_rows_functions};
	const struct hk_export_target target = {.context = ret_history};
	struct hk_timeline_result result;

	*ret_history = (struct hk_history){0};
	int rc = hk_timeline_export(snapshot, directory, &ops, &target, &options, &result);
	if (rc < 0) {
		return rc;
	}
	ret_history->lost = result.lost + result.shed + result.elsewhere;
	if (result.damaged > 0) {
		/* Calls behind a gap would be matched with others than their own. */
		hk_history_fini(ret_history);
		ret_history->damaged = true;
		return -EBADMSG;
	}
	return 0;
}
