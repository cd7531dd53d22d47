#include "collector/metrics/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <uthash.h>
#include <utlist.h>

#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_sum.h"
#include "collector/link/leaf.h"
#include "collector/metrics/aggregate.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/otlp/otlp.h"
#include "collector/server/rejections.h"
#include "collector/server/resident.h"
#include "text/name.h"

/* A job of more processes does not fit the bound by rank. */
#define PROCESSES_BY_RANK_MAX (HK_METRICS_SERIES_MAX / 10)
#define KEPT_ROWS_MAX 65536u /* rows kept of all ended jobs; the oldest jobs are dropped first */
#define ID_COLUMNS 160

/* A job that is shown. */
struct view {
	char id[HK_NAME_BYTES(ID_COLUMNS)];
	uint64_t start_ns;			   /* of the job, since the Unix epoch */
	struct hk_aggregate own;		   /* aggregate of a running job */
	const struct hk_aggregate *fine;	   /* finest aggregate, with functions: */
	struct hk_aggregate coarse[HK_SCOPE_RANK]; /* by node, and for the whole job */
	uint32_t unmade;			   /* series of finer scopes, which were not made */
	bool shown;
	enum hk_aggregate_scope scope;	   /* scope of all series but durations */
	enum hk_aggregate_scope durations; /* scope of durations */
};

struct walk {
	struct hk_collector *collector;
	hk_series_visit visit;
	void *context;
	const char *name;   /* of the metric visited last */
	struct view *views; /* in order of opening */
	size_t count;
	uint32_t left;	  /* series that still fit */
	uint64_t dropped; /* series that did not fit */
};

/* ---- what jobs came to ---- */

static enum hk_aggregate_scope finest(const struct hk_job *job)
{
	return job->process_count > PROCESSES_BY_RANK_MAX ? HK_SCOPE_NODE : HK_SCOPE_RANK;
}

static int aggregate_job(struct hk_job *job, struct hk_aggregate *aggregate)
{
	Hk__Snapshot snapshot;
	hk_job_sum(job);
	int r = hk_job_snapshot(job, &snapshot);
	if (r == 0) {
		r = hk_aggregate_add(aggregate, &snapshot, finest(job));
		free(snapshot.processes);
	}
	return r;
}

static void forget(struct hk_job *job)
{
	if (job->aggregate) {
		hk_aggregate_fini(job->aggregate);
		free(job->aggregate);
		job->aggregate = NULL;
	}
}

void hk_metrics_expire(struct hk_collector *collector, uint64_t now_ns)
{
	struct hk_job *job;
	DL_FOREACH (collector->jobs, job) {
		if (job->aggregate && now_ns >= job->closed_ns + HK_METRICS_KEEP_NS) {
			forget(job);
		}
	}
}

static uint32_t kept_rows(const struct hk_job *job)
{
	uint32_t rows = 0;
	for (int kind = 0; job->aggregate && kind < HK_AGGREGATE_KINDS; kind++) {
		rows += hk_aggregate_rows(job->aggregate, kind);
	}
	return rows;
}

/* Drops aggregates of the oldest jobs until the rest is within the bound. */
static void trim(struct hk_collector *collector)
{
	struct hk_job *job;
	uint64_t rows = 0;
	DL_FOREACH (collector->jobs, job) {
		rows += kept_rows(job);
	}
	DL_FOREACH (collector->jobs, job) {
		if (rows > KEPT_ROWS_MAX) {
			rows -= kept_rows(job);
			forget(job);
		}
	}
}

static void keep(struct hk_collector *collector, struct hk_job *job)
{
	forget(job);
	job->aggregate = calloc(1, sizeof(*job->aggregate));
	if (job->aggregate && aggregate_job(job, job->aggregate) < 0) {
		forget(job);
	}
	trim(collector);
}

int hk_metrics_observe(struct hk_collector *collector, struct hk_job *job, enum hk_job_event event)
{
	if (event == HK_JOB_CLOSED) {
		keep(collector, job);
	} else if (event == HK_JOB_FORGOTTEN) {
		forget(job);
	}
	return 0;
}

/* ---- what there is room for ---- */

static const struct hk_aggregate *aggregate_at(const struct view *view,
					       enum hk_aggregate_scope scope)
{
	return scope == HK_SCOPE_RANK ? view->fine : &view->coarse[scope];
}

/* Returns the aggregate whose rows of KIND are shown. */
static const struct hk_aggregate *aggregate_of(const struct view *view, enum hk_aggregate_kind kind)
{
	return kind == HK_AGGREGATE_FUNCTION   ? view->fine
	       : kind == HK_AGGREGATE_DURATION ? aggregate_at(view, view->durations)
					       : aggregate_at(view, view->scope);
}

static uint32_t series(const struct hk_aggregate *aggregate, enum hk_aggregate_kind first,
		       enum hk_aggregate_kind last)
{
	uint32_t sum = 0;
	for (enum hk_aggregate_kind kind = first; kind <= last; kind++) {
		sum += hk_aggregate_rows(aggregate, kind) * hk_aggregate_series(kind);
	}
	return sum;
}

/* Returns the number of series of VIEW without functions. */
static uint32_t cost(const struct view *view, enum hk_aggregate_scope scope,
		     enum hk_aggregate_scope durations)
{
	return series(aggregate_at(view, scope), HK_AGGREGATE_JOB, HK_AGGREGATE_DOMAIN) +
	       series(aggregate_at(view, durations), HK_AGGREGATE_DURATION, HK_AGGREGATE_DURATION);
}

/* The newest jobs get room first. */
static void show_jobs(struct walk *walk)
{
	for (size_t i = walk->count; i-- > 0;) {
		struct view *view = &walk->views[i];
		uint32_t least = cost(view, HK_SCOPE_JOB, HK_SCOPE_JOB);
		view->shown = least <= walk->left;
		walk->left -= view->shown ? least : 0;
		walk->dropped += cost(view, HK_SCOPE_RANK, HK_SCOPE_RANK) + view->unmade -
				 (view->shown ? least : 0);
	}
}

/* Chooses the finest scopes that fit. Durations are never finer than the rest. */
static void refine(struct walk *walk, struct view *view)
{
	uint32_t least = cost(view, HK_SCOPE_JOB, HK_SCOPE_JOB);
	for (int scope = HK_SCOPE_RANK; scope >= HK_SCOPE_JOB; scope--) {
		for (int durations = scope; durations >= HK_SCOPE_JOB; durations--) {
			uint32_t more = cost(view, scope, durations) - least;
			if (more <= walk->left) {
				view->scope = scope;
				view->durations = durations;
				walk->left -= more;
				walk->dropped -= more;
				return;
			}
		}
	}
}

static int by_time(const void *a, const void *b)
{
	const struct hk_aggregate_row *x = *(struct hk_aggregate_row *const *)a;
	const struct hk_aggregate_row *y = *(struct hk_aggregate_row *const *)b;
	uint64_t x_time = x->value[hk_aggregate_series(HK_AGGREGATE_FUNCTION) - 1];
	uint64_t y_time = y->value[hk_aggregate_series(HK_AGGREGATE_FUNCTION) - 1];
	if (x_time != y_time) {
		return x_time > y_time ? -1 : 1;
	}
	return x->value[0] != y->value[0] ? (x->value[0] > y->value[0] ? -1 : 1) : 0;
}

/* Shows the functions with the most time. */
static int show_functions(struct walk *walk, const struct view *view)
{
	uint32_t rows = hk_aggregate_rows(view->fine, HK_AGGREGATE_FUNCTION), count = 0;
	uint32_t each = hk_aggregate_series(HK_AGGREGATE_FUNCTION);
	uint32_t room = view->shown ? walk->left / each : 0;
	struct hk_aggregate_row **sorted = calloc(rows + 1u, sizeof(struct hk_aggregate_row *));
	if (!sorted) {
		return -ENOMEM;
	}
	for (struct hk_aggregate_row *row = view->fine->rows[HK_AGGREGATE_FUNCTION]; row;
	     row = row->hh.next) {
		sorted[count++] = row;
	}
	qsort(sorted, count, sizeof(struct hk_aggregate_row *), by_time);
	for (uint32_t i = 0; i < count; i++) {
		sorted[i]->left_out = i >= room;
		walk->left -= i < room ? each : 0;
		walk->dropped += i < room ? 0 : each;
	}
	free(sorted);
	return 0;
}

static int plan(struct walk *walk)
{
	int r = 0;
	walk->left = HK_METRICS_SERIES_MAX;
	show_jobs(walk);
	for (size_t i = walk->count; i-- > 0;) {
		if (walk->views[i].shown) {
			refine(walk, &walk->views[i]);
		}
	}
	for (size_t i = walk->count; i-- > 0 && r == 0;) {
		r = show_functions(walk, &walk->views[i]);
	}
	return r;
}

/* ---- views ---- */

static int open_view(struct view *view, struct hk_job *job)
{
	int r = 0;
	hk_name_print(view->id, ID_COLUMNS, job->state->id);
	view->start_ns = job->state->start_unix_ns;
	view->fine = job->aggregate;
	if (!job->state->closed) {
		view->fine = &view->own;
		view->unmade = finest(job) < HK_SCOPE_RANK
				   ? job->process_count * hk_aggregate_series(HK_AGGREGATE_PROCESS)
				   : 0;
		r = aggregate_job(job, &view->own);
	}
	for (int scope = HK_SCOPE_JOB; scope < HK_SCOPE_RANK && r == 0; scope++) {
		r = hk_aggregate_rollup(&view->coarse[scope], view->fine, HK_AGGREGATE_JOB,
					HK_AGGREGATE_DURATION, scope);
	}
	return r;
}

static int open_views(struct walk *walk, const char *user)
{
	struct hk_job *job;
	size_t count = 0;
	int r = 0;
	DL_FOREACH (walk->collector->jobs, job) {
		count++;
	}
	walk->views = calloc(count + 1, sizeof(*walk->views));
	if (!walk->views) {
		return -ENOMEM;
	}
	DL_FOREACH (walk->collector->jobs, job) {
		bool known = !job->state->closed || job->aggregate;
		if (known && hk_job_is_for(job, user) && r == 0) {
			r = open_view(&walk->views[walk->count++], job);
		}
	}
	return r;
}

static void close_views(struct walk *walk)
{
	for (size_t i = 0; i < walk->count; i++) {
		hk_aggregate_fini(&walk->views[i].own);
		for (int scope = 0; scope < HK_SCOPE_RANK; scope++) {
			hk_aggregate_fini(&walk->views[i].coarse[scope]);
		}
	}
	free(walk->views);
}

/* ---- the series of jobs ---- */

static void add_label(struct hk_series *series, const char *name, const char *value)
{
	if (*value) {
		series->label[series->labels].name = name;
		series->label[series->labels++].value = value;
	}
}

/* Adds a label of the table: "name=value". */
static void add_fixed_label(struct hk_series *series, const char *label)
{
	const char *equals = strchr(label, '=');
	if (equals) {
		snprintf(series->fixed, sizeof(series->fixed), "%.*s", (int)(equals - label),
			 label);
		add_label(series, series->fixed, equals + 1);
	}
}

/* Visits SERIES with the value at VALUE of metric INDEX of METRICS. */
static void visit_value(struct walk *walk, struct hk_series *series,
			const struct hk_metric *metrics, uint32_t index, const uint64_t *value)
{
	const struct hk_metric *metric = &metrics[index];
	series->metric = metric;
	series->first = strcmp(walk->name, metric->name) != 0;
	series->value = value;
	walk->name = metric->name;
	add_fixed_label(series, metric->label);
	walk->visit(walk->context, series);
}

static void visit_row(struct walk *walk, const struct view *view, enum hk_aggregate_kind kind,
		      uint32_t index, const struct hk_aggregate_row *row)
{
	const struct hk_aggregate_layout *layout = &hk_aggregate_layouts[kind];
	struct hk_series series = {.start_ns = view->start_ns};
	char rank[16] = "";
	if (row->left_out || row->value[index] == HK_AGGREGATE_UNKNOWN) {
		return;
	}
	if (row->rank >= 0) {
		snprintf(rank, sizeof(rank), "%d", row->rank);
	}
	add_label(&series, "hook_job", view->id);
	add_label(&series, "node", row->node);
	add_label(&series, "rank", rank);
	add_label(&series, "role", row->role);
	for (int i = 0; i < 2; i++) {
		if (layout->label[i]) {
			add_label(&series, layout->label[i], row->label[i]);
		}
	}
	visit_value(walk, &series, layout->metrics, index, &row->value[index]);
}

static void visit_kind(struct walk *walk, enum hk_aggregate_kind kind)
{
	for (uint32_t i = 0; i < hk_aggregate_layouts[kind].metric_count; i++) {
		for (size_t k = 0; k < walk->count; k++) {
			const struct view *view = &walk->views[k];
			const struct hk_aggregate *aggregate = aggregate_of(view, kind);
			const struct hk_aggregate_row *row =
			    view->shown ? aggregate->rows[kind] : NULL;
			for (; row; row = row->hh.next) {
				visit_row(walk, view, kind, i, row);
			}
		}
	}
}

/* ---- the collector itself ---- */

#define ENTRY(id, name, type, unit, fold, label, help) \
	{name, HK_METRIC_##type, HK_METRIC_##unit, HK_FOLD_##fold, label, help},
#define COLLECTOR_INDEX(id, ...) COLLECTOR_##id,
#define UPSTREAM_INDEX(id, ...) UPSTREAM_##id,
#define OTLP_INDEX(id, ...) OTLP_##id,

enum { HK_METRICS_COLLECTOR(COLLECTOR_INDEX) COLLECTOR_VALUES };
enum { HK_METRICS_UPSTREAM(UPSTREAM_INDEX) UPSTREAM_VALUES };
enum { HK_METRICS_OTLP(OTLP_INDEX) OTLP_VALUES };
static const struct hk_metric collector_metrics[] = {HK_METRICS_COLLECTOR(ENTRY)};
static const struct hk_metric upstream_metrics[] = {HK_METRICS_UPSTREAM(ENTRY)};
static const struct hk_metric otlp_metrics[] = {HK_METRICS_OTLP(ENTRY)};

static void visit_values(struct walk *walk, const struct hk_metric *metrics, uint32_t count,
			 const uint64_t *values)
{
	for (uint32_t i = 0; i < count; i++) {
		struct hk_series series = {.start_ns = walk->collector->start_unix_ns};
		visit_value(walk, &series, metrics, i, &values[i]);
	}
}

static void visit_build(struct walk *walk)
{
	static const struct hk_metric metric = {"hook_build",	       HK_METRIC_INFO,
						HK_METRIC_NONE,	       HK_FOLD_MAX,
						"version=" HK_VERSION, "The collector's version."};
	const uint64_t one = 1;
	visit_values(walk, &metric, 1, &one);
}

static void visit_collector(struct walk *walk, const char *user)
{
	const struct hk_collector *collector = walk->collector;
	uint64_t values[COLLECTOR_VALUES] = {0};
	const struct hk_job *job;
	struct timespec cpu;
	struct statvfs store;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	DL_FOREACH (collector->jobs, job) {
		if (hk_job_is_for(job, user)) {
			values[job->state->closed ? COLLECTOR_JOBS_CLOSED : COLLECTOR_JOBS_OPEN]++;
			values[COLLECTOR_STORED] += job->state->stored_bytes;
		}
	}
	values[COLLECTOR_START] = collector->start_unix_ns;
	values[COLLECTOR_CPU] = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	values[COLLECTOR_RSS] = hk_resident_bytes();
	values[COLLECTOR_STORE_FREE] =
	    statvfs(collector->store, &store) == 0 ? store.f_bavail * store.f_frsize : 0;
	values[COLLECTOR_DRAINED] = HASH_COUNT(collector->processes);
	values[COLLECTOR_INCOMPATIBLE] = collector->incompatible;
	values[COLLECTOR_REFUSED] = collector->refused;
	values[COLLECTOR_WAITING] = collector->waiting;
	values[COLLECTOR_RECORDS] = collector->drained_records;
	values[COLLECTOR_TURNED_AWAY] =
	    collector->rejections ? hk_rejections_total(collector->rejections) : 0;
	values[COLLECTOR_SERIES] = HK_METRICS_SERIES_MAX - walk->left;
	values[COLLECTOR_DROPPED] = walk->dropped;
	visit_values(walk, collector_metrics, COLLECTOR_VALUES, values);
}

static void visit_upstream(struct walk *walk)
{
	uint64_t values[UPSTREAM_VALUES] = {0};
	Hk__Uplink uplink;
	if (walk->collector->leaf) {
		hk_leaf_status(walk->collector->leaf, &uplink);
		values[UPSTREAM_CONNECTED] = uplink.connected;
		values[UPSTREAM_UNSENT] = uplink.unsent_bytes;
		visit_values(walk, upstream_metrics, UPSTREAM_VALUES, values);
	}
}

static void visit_otlp(struct walk *walk)
{
	struct hk_otlp_counts counts;
	if (walk->collector->otlp) {
		hk_otlp_counts(walk->collector->otlp, &counts);
		const uint64_t values[OTLP_VALUES] = {
		    [OTLP_ACCEPTED] = counts.accepted,
		    [OTLP_TAKEN] = counts.taken,
		    [OTLP_FAILED] = counts.failed,
		    [OTLP_REJECTED] = counts.rejected,
		};
		visit_values(walk, otlp_metrics, OTLP_VALUES, values);
	}
}

int hk_metrics_walk(struct hk_collector *collector, const char *user, hk_series_visit visit,
		    void *context)
{
	struct walk walk = {.collector = collector, .visit = visit, .context = context, .name = ""};
	int r = open_views(&walk, user);
	r = r < 0 ? r : plan(&walk);
	if (r == 0) {
		visit_build(&walk);
		visit_collector(&walk, user);
		visit_upstream(&walk);
		visit_otlp(&walk);
		for (enum hk_aggregate_kind kind = 0; kind < HK_AGGREGATE_KINDS; kind++) {
			visit_kind(&walk, kind);
		}
	}
	close_views(&walk);
	return r;
}
