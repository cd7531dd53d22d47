#include "collector/metrics/aggregate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/build/nodes.h"
#include "report/clock/job_clock.h"
#include "report/model/report.h"
#include "report/model/role.h"
#include "ring/sample.h"
#include "ring/segment.h"
#include "text/name.h"
#include "wire/columns.h"

#define TEXT_COLUMNS 160 /* columns of a label; longer ones are cut */
#define TEXT_BYTES HK_NAME_BYTES(TEXT_COLUMNS)
#define BUCKETS (HK_AGGREGATE_BOUNDS + 1) /* the last bucket is above all bounds */
#define DOMAINS_NEAR 8u /* domains of a process that are found without a hash look-up */

/* ---- the table ---- */

#define ENTRY(id, name, type, unit, fold, label, help) \
	{name, HK_METRIC_##type, HK_METRIC_##unit, HK_FOLD_##fold, label, help},
#define JOB_INDEX(id, ...) JOB_##id,
#define PROCESS_INDEX(id, ...) PROCESS_##id,
#define MEMORY_INDEX(id, ...) MEMORY_##id,
#define DOMAIN_INDEX(id, ...) DOMAIN_##id,
#define FUNCTION_INDEX(id, ...) FUNCTION_##id,

enum { HK_METRICS_JOB(JOB_INDEX) JOB_VALUES };
enum { HK_METRICS_PROCESS(PROCESS_INDEX) PROCESS_VALUES };
enum { HK_METRICS_MEMORY(MEMORY_INDEX) MEMORY_VALUES };
enum { HK_METRICS_DOMAIN(DOMAIN_INDEX) DOMAIN_VALUES };
enum { HK_METRICS_FUNCTION(FUNCTION_INDEX) FUNCTION_VALUES };

static const struct hk_metric job_metrics[] = {HK_METRICS_JOB(ENTRY)};
static const struct hk_metric info_metrics[] = {HK_METRICS_INFO(ENTRY)};
static const struct hk_metric process_metrics[] = {HK_METRICS_PROCESS(ENTRY)};
static const struct hk_metric memory_metrics[] = {HK_METRICS_MEMORY(ENTRY)};
static const struct hk_metric domain_metrics[] = {HK_METRICS_DOMAIN(ENTRY)};
static const struct hk_metric duration_metrics[] = {HK_METRICS_DURATION(ENTRY)};
static const struct hk_metric function_metrics[] = {HK_METRICS_FUNCTION(ENTRY)};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LAYOUT(metrics, ...)                             \
	{                                                \
		metrics, COUNT(metrics), COUNT(metrics), \
		{                                        \
			__VA_ARGS__                      \
		}                                        \
	}

const struct hk_aggregate_layout hk_aggregate_layouts[HK_AGGREGATE_KINDS] = {
    [HK_AGGREGATE_JOB] = LAYOUT(job_metrics, "name"),
    [HK_AGGREGATE_INFO] = LAYOUT(info_metrics, "pid", "program"),
    [HK_AGGREGATE_PROCESS] = LAYOUT(process_metrics, NULL),
    [HK_AGGREGATE_MEMORY] = LAYOUT(memory_metrics, "device", "kind"),
    [HK_AGGREGATE_DOMAIN] = LAYOUT(domain_metrics, "domain"),
    [HK_AGGREGATE_DURATION] = {duration_metrics, 1, BUCKETS + 1, {"domain"}},
    [HK_AGGREGATE_FUNCTION] = LAYOUT(function_metrics, "domain", "function"),
};

/* ---- rows ---- */

/* Identity of a row. The texts are not escaped. */
struct identity {
	enum hk_aggregate_kind kind;
	int32_t rank;
	const char *node, *role;
	const char *label[2];
};

static char *put_text(char *at, const char *text)
{
	char shown[TEXT_BYTES];
	hk_name_print(shown, TEXT_COLUMNS, text);
	size_t size = strlen(shown) + 1;
	memcpy(at, shown, size);
	return at + size;
}

static const char *next_text(const char *text)
{
	return text + strlen(text) + 1;
}

/* Adds a row under KEY: its rank, then its four texts. Returns NULL if out of memory. */
static struct hk_aggregate_row *row_new(struct hk_aggregate_row **rows, const char *key,
					size_t size, uint32_t values)
{
	struct hk_aggregate_row *row = calloc(1, sizeof(*row) + values * sizeof(uint64_t) + size);
	if (!row) {
		return NULL;
	}
	row->value = (uint64_t *)(void *)(row + 1);
	char *copy = (char *)(row->value + values);
	memcpy(copy, key, size);
	memcpy(&row->rank, copy, sizeof(row->rank));
	row->node = copy + sizeof(row->rank);
	row->role = next_text(row->node);
	row->label[0] = next_text(row->role);
	row->label[1] = next_text(row->label[0]);
	HASH_ADD_KEYPTR(hh, *rows, copy, size, row);
	return row;
}

static struct hk_aggregate_row *row_get(struct hk_aggregate *aggregate,
					const struct identity *identity)
{
	char key[sizeof(int32_t) + 4 * TEXT_BYTES];
	struct hk_aggregate_row **rows = &aggregate->rows[identity->kind], *row;
	char *at = key + sizeof(identity->rank);
	memcpy(key, &identity->rank, sizeof(identity->rank));
	at = put_text(at, identity->node);
	at = put_text(at, identity->role);
	at = put_text(at, identity->label[0]);
	at = put_text(at, identity->label[1]);
	size_t size = (size_t)(at - key);
	HASH_FIND(hh, *rows, key, size, row);
	return row ? row : row_new(rows, key, size, hk_aggregate_layouts[identity->kind].values);
}

static void add(uint64_t *value, uint64_t more)
{
	/* A counter must not go back, so the sum is clamped. */
	if (__builtin_add_overflow(*value, more, value)) {
		*value = UINT64_MAX - 1;
	}
}

static void most(uint64_t *value, uint64_t other)
{
	*value = other > *value ? other : *value;
}

/* ---- from a snapshot ---- */

struct adding {
	struct hk_aggregate *aggregate;
	const Hk__Snapshot *snapshot;
	enum hk_aggregate_scope scope;
	struct hk_report_node_memory silent;
	/* The process being added, and its sites by id. */
	const Hk__Process *process;
	const Hk__Site **sites;
	uint32_t site_count;
	struct {
		const char *name;
		struct hk_aggregate_row *domain, *duration;
	} near[DOMAINS_NEAR];
	uint32_t near_count;
	/* Rows of the previous process's functions, by site: most processes have the same
	 * functions. */
	struct hk_aggregate_row **hints;
	uint32_t hint_count;
};

static struct identity identity_of(const struct adding *adding, enum hk_aggregate_kind kind,
				   const char *first, const char *second)
{
	const Hk__Process *process = adding->process;
	bool function = kind == HK_AGGREGATE_FUNCTION;
	bool node = !function && adding->scope >= HK_SCOPE_NODE;
	bool rank =
	    !function && adding->scope >= HK_SCOPE_RANK && process->role != HK__ROLE__ROLE_LAUNCHER;
	return (struct identity){
	    .kind = kind,
	    .rank = rank ? hk_report_rank_of(process) : -1,
	    .node = node ? process->host : "",
	    .role = hk_report_role_of(process),
	    .label = {first, second},
	};
}

static uint64_t oldest_call_ns(const struct hk_report_clock *clock, const Hk__Process *process)
{
	uint64_t oldest = 0;
	for (size_t i = 0; process->seen && i < process->n_open_calls; i++) {
		int64_t since = hk_report_clock_node_ns(clock, process->open_calls[i]->start_ticks);
		int64_t age = hk_report_clock_node_ns(clock, process->seen->ticks) - since;
		most(&oldest, age > 0 ? (uint64_t)age : 0);
	}
	return oldest;
}

static uint64_t clock_error_ns(const struct hk_report_clock *clock, const Hk__Process *process)
{
	const Hk__Anchor *last = process->end ? process->end : process->seen;
	struct hk_report_error error;
	bool known = process->start && last &&
		     hk_report_clock_error(clock, clock->ticks, last->ticks, &error);
	return known ? error.bound_ns : HK_AGGREGATE_UNKNOWN;
}

/* Returns whether the process runs, as far as is known. */
static bool is_up(struct adding *adding)
{
	const Hk__Process *process = adding->process;
	return process->exit_kind == HK__EXIT_KIND__EXIT_RUNNING &&
	       !hk_report_node_is_silent(adding->snapshot->job, process, &adding->silent);
}

static int add_process_row(struct adding *adding, const struct hk_report_clock *clock, bool up)
{
	const Hk__Process *process = adding->process;
	struct identity identity = identity_of(adding, HK_AGGREGATE_PROCESS, "", "");
	struct hk_aggregate_row *row = row_get(adding->aggregate, &identity);
	if (!row) {
		return -ENOMEM;
	}
	uint64_t store = process->records_dropped < process->lost_records ? process->records_dropped
									  : process->lost_records;
	uint64_t *value = row->value;
	add(&value[PROCESS_UP], up);
	add(&value[PROCESS_RECORDS], hk_report_records_of(process));
	add(&value[PROCESS_LOST_BUFFER], process->lost_records - store);
	add(&value[PROCESS_LOST_STORE], store);
	add(&value[PROCESS_LOST_KEEP], process->records_shed);
	add(&value[PROCESS_UNTRACKED], process->calls_untracked);
	add(&value[PROCESS_OVERHEAD], process->tracing_cost_ns);
	add(&value[PROCESS_CPU], process->cpu_ns);
	most(&value[PROCESS_RSS_PEAK], process->rss_peak_bytes);
	most(&value[PROCESS_OPEN], up ? oldest_call_ns(clock, process) : 0);
	most(&value[PROCESS_CLOCK_ERROR], clock_error_ns(clock, process));
	return 0;
}

static int add_info_row(struct adding *adding)
{
	const Hk__Process *process = adding->process;
	char pid[16];
	if (adding->scope < HK_SCOPE_RANK || process->role != HK__ROLE__ROLE_MAIN ||
	    process->exit_kind == HK__EXIT_KIND__EXIT_EXEC) {
		return 0;
	}
	snprintf(pid, sizeof(pid), "%u", process->pid);
	struct identity identity = identity_of(adding, HK_AGGREGATE_INFO, pid, process->program);
	struct hk_aggregate_row *row = row_get(adding->aggregate, &identity);
	if (!row) {
		return -ENOMEM;
	}
	row->value[0] = 1;
	return 0;
}

static int add_memory_rows(struct adding *adding, bool up)
{
	const Hk__Process *process = adding->process;
	for (size_t i = 0; i < process->n_memory; i++) {
		const Hk__Memory *memory = process->memory[i];
		char device[16] = "host";
		if (strcmp(memory->library, "*") != 0) {
			continue;
		}
		if (memory->device >= 0) {
			snprintf(device, sizeof(device), "%d", memory->device);
		}
		struct identity identity =
		    identity_of(adding, HK_AGGREGATE_MEMORY, device, memory->kind);
		struct hk_aggregate_row *row = row_get(adding->aggregate, &identity);
		if (!row) {
			return -ENOMEM;
		}
		/* The memory of an exited process is free. */
		add(&row->value[MEMORY_LIVE], up ? memory->live_bytes : 0);
		most(&row->value[MEMORY_PEAK], memory->peak_bytes);
		add(&row->value[MEMORY_ALLOCATIONS], memory->allocs);
		add(&row->value[MEMORY_FREES], memory->frees);
	}
	return 0;
}

/* Finds the rows of DOMAIN of the process. Returns false if out of memory. */
static bool domain_rows(struct adding *adding, const char *domain,
			struct hk_aggregate_row **ret_domain,
			struct hk_aggregate_row **ret_duration)
{
	for (uint32_t i = 0; i < adding->near_count; i++) {
		if (strcmp(adding->near[i].name, domain) == 0) {
			*ret_domain = adding->near[i].domain;
			*ret_duration = adding->near[i].duration;
			return true;
		}
	}
	struct identity identity = identity_of(adding, HK_AGGREGATE_DOMAIN, domain, "");
	*ret_domain = row_get(adding->aggregate, &identity);
	identity.kind = HK_AGGREGATE_DURATION;
	*ret_duration = row_get(adding->aggregate, &identity);
	if (adding->near_count < DOMAINS_NEAR) {
		adding->near[adding->near_count].name = domain;
		adding->near[adding->near_count].domain = *ret_domain;
		adding->near[adding->near_count++].duration = *ret_duration;
	}
	return *ret_domain && *ret_duration;
}

static struct hk_aggregate_row *function_row(struct adding *adding, const Hk__Site *site)
{
	struct hk_aggregate_row *hint =
	    site->id < adding->hint_count ? adding->hints[site->id] : NULL;
	const char *role = hk_report_role_of(adding->process);
	if (hint && strcmp(hint->label[1], site->function) == 0 &&
	    strcmp(hint->label[0], site->domain) == 0 && strcmp(hint->role, role) == 0) {
		return hint;
	}
	struct identity identity =
	    identity_of(adding, HK_AGGREGATE_FUNCTION, site->domain, site->function);
	hint = row_get(adding->aggregate, &identity);
	if (site->id < adding->hint_count) {
		adding->hints[site->id] = hint;
	}
	return hint;
}

/* Returns the bound of a bucket. Octaves lie between powers of two, as the bounds do, so each has
 * one bound. */
static uint32_t bound_of(uint32_t bucket)
{
	uint32_t octave = bucket >> 5; /* 1: from 2^5 ns */
	uint32_t first = HK_AGGREGATE_BOUND_FIRST - 5;
	uint32_t bound = octave > first ? octave - first : 0;
	return bound < HK_AGGREGATE_BOUNDS ? bound : HK_AGGREGATE_BOUNDS;
}

static int add_cell(struct adding *adding, const Hk__Site *site, const struct hk_columns_row *cell)
{
	struct hk_aggregate_row *domain, *duration, *function = function_row(adding, site);
	if (!function || !domain_rows(adding, site->domain, &domain, &duration)) {
		return -ENOMEM;
	}
	uint64_t total_ns = hk_sample_weighted(cell->total_ns, cell->sampled_ns);
	add(&domain->value[DOMAIN_CALLS], cell->calls);
	add(&domain->value[DOMAIN_ERRORS], cell->errors);
	add(&domain->value[DOMAIN_BYTES], hk_sample_weighted(cell->bytes, cell->sampled_bytes));
	add(&domain->value[DOMAIN_BUSY],
	    hk_sample_weighted(cell->outermost_ns, cell->sampled_outermost_ns));
	add(&function->value[FUNCTION_CALLS], cell->calls);
	add(&function->value[FUNCTION_ERRORS], cell->errors);
	add(&function->value[FUNCTION_TIME], total_ns);
	for (size_t i = 0; i < cell->buckets; i++) {
		add(&duration->value[bound_of(cell->bucket[i])], cell->count[i]);
	}
	add(&duration->value[BUCKETS], total_ns);
	return 0;
}

/* Indexes the sites of the process by id. */
static int index_sites(struct adding *adding)
{
	const Hk__Process *process = adding->process;
	uint32_t top = 0;
	for (size_t i = 0; i < process->n_sites; i++) {
		uint32_t id = process->sites[i]->id;
		top = id < HK_SITES_MAX && id >= top ? id + 1 : top;
	}
	if (top > adding->hint_count) {
		void *sites = realloc(adding->sites, top * sizeof(*adding->sites));
		adding->sites = sites ? sites : adding->sites;
		void *hints = sites ? realloc(adding->hints, top * sizeof(*adding->hints)) : NULL;
		adding->hints = hints ? hints : adding->hints;
		if (!hints) {
			return -ENOMEM;
		}
		memset(adding->hints + adding->hint_count, 0,
		       (top - adding->hint_count) * sizeof(*adding->hints));
		adding->hint_count = top;
	}
	adding->site_count = top;
	if (top > 0) {
		memset(adding->sites, 0, top * sizeof(*adding->sites));
	}
	for (size_t i = 0; i < process->n_sites; i++) {
		if (process->sites[i]->id < top) {
			adding->sites[process->sites[i]->id] = process->sites[i];
		}
	}
	return 0;
}

static int add_calls(struct adding *adding)
{
	struct hk_columns_walk walk = {.columns = adding->process->cells};
	struct hk_columns_row cell;
	int r = index_sites(adding);
	adding->near_count = 0;
	while (r == 0 && hk_columns_next(&walk, &cell)) {
		const Hk__Site *site =
		    cell.site < adding->site_count ? adding->sites[cell.site] : NULL;
		if (site && cell.calls > 0) {
			r = add_cell(adding, site, &cell);
		}
	}
	return r;
}

static int add_job_row(struct hk_aggregate *aggregate, const Hk__Job *job)
{
	const struct identity identity = {
	    .kind = HK_AGGREGATE_JOB, .rank = -1, .node = "", .role = "", .label = {job->name, ""}};
	struct hk_aggregate_row *row = row_get(aggregate, &identity);
	if (!row) {
		return -ENOMEM;
	}
	row->value[JOB_RUNNING] = !job->closed;
	row->value[JOB_WORLD] = job->world_size > 0 ? (uint64_t)job->world_size : 0;
	row->value[JOB_START] = job->start_unix_ns;
	row->value[JOB_LIVE] = job->processes_live;
	row->value[JOB_STORED] = job->stored_bytes;
	return 0;
}

int hk_aggregate_add(struct hk_aggregate *aggregate, const Hk__Snapshot *snapshot,
		     enum hk_aggregate_scope scope)
{
	struct adding adding = {.aggregate = aggregate, .snapshot = snapshot, .scope = scope};
	struct hk_report_clock *clocks;
	int r = hk_report_clock_all(snapshot, &clocks);
	if (r < 0) {
		return r;
	}
	r = add_job_row(aggregate, snapshot->job);
	for (size_t i = 0; i < snapshot->n_processes && r == 0; i++) {
		adding.process = snapshot->processes[i];
		bool up = is_up(&adding);
		r = add_info_row(&adding);
		r = r ? r : add_process_row(&adding, &clocks[i], up);
		r = r ? r : add_memory_rows(&adding, up);
		r = r ? r : add_calls(&adding);
	}
	free(adding.sites);
	free(adding.hints);
	free(clocks);
	return r;
}

/* ---- folding ---- */

/* Adds the values of FROM to VALUE. */
static void merge(enum hk_aggregate_kind kind, uint64_t *value, const uint64_t *from)
{
	const struct hk_aggregate_layout *layout = &hk_aggregate_layouts[kind];
	for (uint32_t i = 0; i < layout->values; i++) {
		/* Values after the metrics are buckets of a histogram. */
		if (i < layout->metric_count && layout->metrics[i].fold == HK_FOLD_MAX) {
			most(&value[i], from[i]);
		} else {
			add(&value[i], from[i]);
		}
	}
}

int hk_aggregate_rollup(struct hk_aggregate *aggregate, const struct hk_aggregate *from,
			enum hk_aggregate_kind first, enum hk_aggregate_kind last,
			enum hk_aggregate_scope scope)
{
	for (enum hk_aggregate_kind kind = first; kind <= last; kind++) {
		if (kind == HK_AGGREGATE_INFO && scope < HK_SCOPE_RANK) {
			continue; /* the row names a rank: nothing to sum */
		}
		for (const struct hk_aggregate_row *row = from->rows[kind]; row;
		     row = row->hh.next) {
			const struct identity identity = {
			    .kind = kind,
			    .rank = scope >= HK_SCOPE_RANK ? row->rank : -1,
			    .node = scope >= HK_SCOPE_NODE ? row->node : "",
			    .role = row->role,
			    .label = {row->label[0], row->label[1]},
			};
			struct hk_aggregate_row *into = row_get(aggregate, &identity);
			if (!into) {
				return -ENOMEM;
			}
			merge(kind, into->value, row->value);
		}
	}
	return 0;
}

void hk_aggregate_fini(struct hk_aggregate *aggregate)
{
	for (int kind = 0; kind < HK_AGGREGATE_KINDS; kind++) {
		struct hk_aggregate_row *row = aggregate->rows[kind], *next;
		HASH_CLEAR(hh, aggregate->rows[kind]);
		for (; row; row = next) {
			next = row->hh.next;
			free(row);
		}
	}
}

uint32_t hk_aggregate_rows(const struct hk_aggregate *aggregate, enum hk_aggregate_kind kind)
{
	return HASH_COUNT(aggregate->rows[kind]);
}

uint32_t hk_aggregate_series(enum hk_aggregate_kind kind)
{
	const struct hk_aggregate_layout *layout = &hk_aggregate_layouts[kind];
	/* A histogram has its buckets, a count and a sum. */
	return kind == HK_AGGREGATE_DURATION ? BUCKETS + 2 : layout->metric_count;
}
