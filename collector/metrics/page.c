#include "collector/metrics/page.h"

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
#include "collector/server/rejections.h"
#include "collector/server/resident.h"
#include "text/name.h"

/* A job of more processes does not fit the bound by rank. */
#define PROCESSES_BY_RANK_MAX (HK_METRICS_SERIES_MAX / 10)
#define KEPT_ROWS_MAX 65536u /* rows kept of all ended jobs; the oldest jobs are dropped first */
#define ID_COLUMNS 160

/* A job on the page. */
struct view {
	char id[HK_NAME_BYTES(ID_COLUMNS)];
	struct hk_aggregate own;		   /* aggregate of a running job */
	const struct hk_aggregate *fine;	   /* finest aggregate, with functions: */
	struct hk_aggregate coarse[HK_SCOPE_RANK]; /* by node, and for the whole job */
	uint32_t unmade;			   /* series of finer scopes, which were not made */
	bool shown;
	enum hk_aggregate_scope scope;	   /* scope of all series but durations */
	enum hk_aggregate_scope durations; /* scope of durations */
};

struct page {
	struct hk_collector *collector;
	struct hk_exposition exposition;
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
static void show_jobs(struct page *page)
{
	for (size_t i = page->count; i-- > 0;) {
		struct view *view = &page->views[i];
		uint32_t least = cost(view, HK_SCOPE_JOB, HK_SCOPE_JOB);
		view->shown = least <= page->left;
		page->left -= view->shown ? least : 0;
		page->dropped += cost(view, HK_SCOPE_RANK, HK_SCOPE_RANK) + view->unmade -
				 (view->shown ? least : 0);
	}
}

/* Chooses the finest scopes that fit. Durations are never finer than the rest. */
static void refine(struct page *page, struct view *view)
{
	uint32_t least = cost(view, HK_SCOPE_JOB, HK_SCOPE_JOB);
	for (int scope = HK_SCOPE_RANK; scope >= HK_SCOPE_JOB; scope--) {
		for (int durations = scope; durations >= HK_SCOPE_JOB; durations--) {
			uint32_t more = cost(view, scope, durations) - least;
			if (more <= page->left) {
				view->scope = scope;
				view->durations = durations;
				page->left -= more;
				page->dropped -= more;
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
static int show_functions(struct page *page, const struct view *view)
{
	uint32_t rows = hk_aggregate_rows(view->fine, HK_AGGREGATE_FUNCTION), count = 0;
	uint32_t each = hk_aggregate_series(HK_AGGREGATE_FUNCTION);
	uint32_t room = view->shown ? page->left / each : 0;
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
		page->left -= i < room ? each : 0;
		page->dropped += i < room ? 0 : each;
	}
	free(sorted);
	return 0;
}

static int plan(struct page *page)
{
	int r = 0;
	page->left = HK_METRICS_SERIES_MAX;
	show_jobs(page);
	for (size_t i = page->count; i-- > 0;) {
		if (page->views[i].shown) {
			refine(page, &page->views[i]);
		}
	}
	for (size_t i = page->count; i-- > 0 && r == 0;) {
		r = show_functions(page, &page->views[i]);
	}
	return r;
}

/* ---- views ---- */

static int open_view(struct view *view, struct hk_job *job)
{
	int r = 0;
	hk_name_print(view->id, ID_COLUMNS, job->state->id);
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

static int open_views(struct page *page, const char *user)
{
	struct hk_job *job;
	size_t count = 0;
	int r = 0;
	DL_FOREACH (page->collector->jobs, job) {
		count++;
	}
	page->views = calloc(count + 1, sizeof(*page->views));
	if (!page->views) {
		return -ENOMEM;
	}
	DL_FOREACH (page->collector->jobs, job) {
		bool known = !job->state->closed || job->aggregate;
		if (known && hk_job_is_for(job, user) && r == 0) {
			r = open_view(&page->views[page->count++], job);
		}
	}
	return r;
}

static void close_views(struct page *page)
{
	for (size_t i = 0; i < page->count; i++) {
		hk_aggregate_fini(&page->views[i].own);
		for (int scope = 0; scope < HK_SCOPE_RANK; scope++) {
			hk_aggregate_fini(&page->views[i].coarse[scope]);
		}
	}
	free(page->views);
}

/* ---- writing ---- */

/* Writes a label of the table: "name=value". */
static void fixed_label(struct hk_exposition *exposition, const char *label)
{
	char name[32];
	const char *equals = strchr(label, '=');
	if (equals) {
		snprintf(name, sizeof(name), "%.*s", (int)(equals - label), label);
		hk_exposition_label(exposition, name, equals + 1);
	}
}

static void row_labels(struct hk_exposition *exposition, const struct view *view,
		       enum hk_aggregate_kind kind, const struct hk_aggregate_row *row)
{
	const struct hk_aggregate_layout *layout = &hk_aggregate_layouts[kind];
	char rank[16] = "";
	if (row->rank >= 0) {
		snprintf(rank, sizeof(rank), "%d", row->rank);
	}
	hk_exposition_label(exposition, "hook_job", view->id);
	hk_exposition_label(exposition, "node", row->node);
	hk_exposition_label(exposition, "rank", rank);
	hk_exposition_label(exposition, "role", row->role);
	for (int i = 0; i < 2; i++) {
		if (layout->label[i]) {
			hk_exposition_label(exposition, layout->label[i], row->label[i]);
		}
	}
}

static void write_durations(struct hk_exposition *exposition, const struct view *view,
			    const struct hk_aggregate_row *row)
{
	const struct hk_metric *metric = hk_aggregate_layouts[HK_AGGREGATE_DURATION].metrics;
	uint64_t count = 0;
	for (uint32_t i = 0; i <= HK_AGGREGATE_BOUNDS; i++) {
		char bound[32] = "+Inf";
		if (i < HK_AGGREGATE_BOUNDS) {
			hk_exposition_seconds(bound, UINT64_C(1) << (HK_AGGREGATE_BOUND_FIRST + i));
		}
		count += row->value[i];
		hk_exposition_sample(exposition, metric->name, metric->type, "_bucket");
		row_labels(exposition, view, HK_AGGREGATE_DURATION, row);
		hk_exposition_label(exposition, "le", bound);
		hk_exposition_value(exposition, HK_METRIC_NONE, count);
	}
	hk_exposition_sample(exposition, metric->name, metric->type, "_count");
	row_labels(exposition, view, HK_AGGREGATE_DURATION, row);
	hk_exposition_value(exposition, HK_METRIC_NONE, count);
	hk_exposition_sample(exposition, metric->name, metric->type, "_sum");
	row_labels(exposition, view, HK_AGGREGATE_DURATION, row);
	hk_exposition_value(exposition, metric->unit, row->value[HK_AGGREGATE_BOUNDS + 1]);
}

static void write_row(struct hk_exposition *exposition, const struct view *view,
		      enum hk_aggregate_kind kind, uint32_t index,
		      const struct hk_aggregate_row *row)
{
	const struct hk_metric *metric = &hk_aggregate_layouts[kind].metrics[index];
	if (row->left_out || row->value[index] == HK_AGGREGATE_UNKNOWN) {
		return;
	}
	if (kind == HK_AGGREGATE_DURATION) {
		write_durations(exposition, view, row);
		return;
	}
	hk_exposition_sample(exposition, metric->name, metric->type, "");
	row_labels(exposition, view, kind, row);
	fixed_label(exposition, metric->label);
	hk_exposition_value(exposition, metric->unit, row->value[index]);
}

static void announce(const struct hk_exposition *exposition, const struct hk_metric *metrics,
		     uint32_t index)
{
	const struct hk_metric *metric = &metrics[index];
	if (index == 0 || strcmp(metrics[index - 1].name, metric->name) != 0) {
		hk_exposition_family(exposition, metric->name, metric->type, metric->unit,
				     metric->help);
	}
}

/* Returns whether the page has rows of KIND. */
static bool has_rows(const struct page *page, enum hk_aggregate_kind kind)
{
	for (size_t i = 0; i < page->count; i++) {
		if (page->views[i].shown &&
		    hk_aggregate_rows(aggregate_of(&page->views[i], kind), kind)) {
			return true;
		}
	}
	return false;
}

static void write_kind(struct page *page, enum hk_aggregate_kind kind)
{
	const struct hk_aggregate_layout *layout = &hk_aggregate_layouts[kind];
	for (uint32_t i = 0; has_rows(page, kind) && i < layout->metric_count; i++) {
		announce(&page->exposition, layout->metrics, i);
		for (size_t k = 0; k < page->count; k++) {
			const struct view *view = &page->views[k];
			const struct hk_aggregate *aggregate = aggregate_of(view, kind);
			const struct hk_aggregate_row *row =
			    view->shown ? aggregate->rows[kind] : NULL;
			for (; row; row = row->hh.next) {
				write_row(&page->exposition, view, kind, i, row);
			}
		}
	}
}

/* ---- the collector itself ---- */

#define ENTRY(id, name, type, unit, fold, label, help) \
	{name, HK_METRIC_##type, HK_METRIC_##unit, HK_FOLD_##fold, label, help},
#define COLLECTOR_INDEX(id, ...) COLLECTOR_##id,
#define UPSTREAM_INDEX(id, ...) UPSTREAM_##id,

enum { HK_METRICS_COLLECTOR(COLLECTOR_INDEX) COLLECTOR_VALUES };
enum { HK_METRICS_UPSTREAM(UPSTREAM_INDEX) UPSTREAM_VALUES };
static const struct hk_metric collector_metrics[] = {HK_METRICS_COLLECTOR(ENTRY)};
static const struct hk_metric upstream_metrics[] = {HK_METRICS_UPSTREAM(ENTRY)};

static void write_values(struct page *page, const struct hk_metric *metrics, uint32_t count,
			 const uint64_t *values)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct hk_metric *metric = &metrics[i];
		announce(&page->exposition, metrics, i);
		hk_exposition_sample(&page->exposition, metric->name, metric->type, "");
		fixed_label(&page->exposition, metric->label);
		hk_exposition_value(&page->exposition, metric->unit, values[i]);
	}
}

static void write_build(struct page *page)
{
	struct hk_exposition *exposition = &page->exposition;
	hk_exposition_family(exposition, "hook_build", HK_METRIC_INFO, HK_METRIC_NONE,
			     "The collector's version.");
	hk_exposition_sample(exposition, "hook_build", HK_METRIC_INFO, "");
	hk_exposition_label(exposition, "version", HK_VERSION);
	hk_exposition_value(exposition, HK_METRIC_NONE, 1);
}

static void write_collector(struct page *page, const char *user)
{
	const struct hk_collector *collector = page->collector;
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
	values[COLLECTOR_SERIES] = HK_METRICS_SERIES_MAX - page->left;
	values[COLLECTOR_DROPPED] = page->dropped;
	write_values(page, collector_metrics, COLLECTOR_VALUES, values);
}

static void write_upstream(struct page *page)
{
	uint64_t values[UPSTREAM_VALUES] = {0};
	Hk__Uplink uplink;
	if (page->collector->leaf) {
		hk_leaf_status(page->collector->leaf, &uplink);
		values[UPSTREAM_CONNECTED] = uplink.connected;
		values[UPSTREAM_UNSENT] = uplink.unsent_bytes;
		write_values(page, upstream_metrics, UPSTREAM_VALUES, values);
	}
}

int hk_metrics_render(struct hk_collector *collector, const char *user,
		      enum hk_exposition_format format, char **ret_text, size_t *ret_size)
{
	struct page page = {.collector = collector, .exposition.format = format};
	char *text = NULL;
	int r = open_views(&page, user);
	r = r < 0 ? r : plan(&page);
	if (r == 0) {
		page.exposition.output = open_memstream(&text, ret_size);
		r = page.exposition.output ? 0 : -ENOMEM;
	}
	if (r == 0) {
		write_build(&page);
		write_collector(&page, user);
		write_upstream(&page);
		for (enum hk_aggregate_kind kind = 0; kind < HK_AGGREGATE_KINDS; kind++) {
			write_kind(&page, kind);
		}
		hk_exposition_end(&page.exposition);
		bool failed = ferror(page.exposition.output) != 0;
		failed |= fclose(page.exposition.output) != 0;
		r = failed ? -ENOMEM : 0;
	}
	close_views(&page);
	if (r < 0) {
		free(text);
		return r;
	}
	*ret_text = text;
	return 0;
}
