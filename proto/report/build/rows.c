#include "report/build/rows.h"
#include "hooks/hook.h"
#include "hooks/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/build/group.h"
#include "report/model/domains.h"
#include "report/model/numbers.h"
#include "report/model/role.h"
#include "ring/segment.h"
#include "text/name.h"

/* uthash reports out of memory instead of exiting. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Limit the work that an invalid snapshot can cause. */
#define OPEN_CALLS_MAX 65536u
#define THREADS_SEARCHED 1024u
#define NOTE_COLUMNS 400

/* Texts are shared copies, so keys compare their addresses. */
struct key {
	const char *domain, *function, *library, *role;
	int64_t rank;
};

struct row {
	UT_hash_handle hh;
	struct key key;
	struct hk_report_call *call; /* in the report */
};

struct sites {
	const Hk__Site **by_id;
	uint32_t count;
};

static int sites_init(struct sites *sites, const Hk__Process *process)
{
	uint32_t top = 0;

	for (size_t i = 0; i < process->n_sites; i++) {
		uint32_t id = process->sites[i]->id;
		if (id < HK_SITES_MAX && id >= top) {
			top = id + 1;
		}
	}
	sites->count = top;
	sites->by_id = calloc(top + 1u, sizeof(*sites->by_id));
	if (!sites->by_id) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < process->n_sites; i++) {
		if (process->sites[i]->id < top) {
			sites->by_id[process->sites[i]->id] = process->sites[i];
		}
	}
	return 0;
}

static const Hk__Site *sites_get(const struct sites *sites, uint32_t id)
{
	return id < sites->count ? sites->by_id[id] : NULL;
}

static struct row *row_get(struct hk_report *report, struct row **rows, const Hk__Process *process,
			   const Hk__Site *site)
{
	struct key key = {
	    .domain = hk_report_strings_get(&report->strings, site->domain),
	    .function = hk_report_strings_get(&report->strings, site->function),
	    .library = hk_report_strings_get(&report->strings, site->library),
	    .role = hk_report_role_of(process),
	    .rank = hk_report_rank_of(process),
	};
	const char *host = hk_report_strings_get(&report->strings, process->host);
	struct row *row;

	if (!key.domain || !key.function || !key.library || !host) {
		return NULL;
	}
	HASH_FIND(hh, *rows, &key, sizeof(key), row);
	if (row) {
		return row;
	}
	row = calloc(1, sizeof(*row));
	if (!row) {
		return NULL;
	}
	row->key = key;
	HASH_ADD(hh, *rows, key, sizeof(key), row);
	if (!row->hh.tbl) {
		free(row);
		return NULL;
	}
	row->call = &report->calls[report->call_count++];
	*row->call = (struct hk_report_call){
	    .rank = (int32_t)key.rank,
	    .role = key.role,
	    .host = host,
	    .domain = key.domain,
	    .function = key.function,
	    .library = key.library,
	};
	return row;
}

static int process_calls(struct hk_report *report, struct row **rows, const Hk__Process *process)
{
	struct hk_columns_walk walk = {.columns = process->cells};
	struct hk_columns_row cell;
	struct sites sites;
	int r = sites_init(&sites, process);

	while (r == 0 && hk_columns_next(&walk, &cell)) {
		const Hk__Site *site = sites_get(&sites, cell.site);
		if (!site || cell.calls == 0) {
			continue;
		}
		struct row *row = row_get(report, rows, process, site);
		if (!row) {
			r = -ENOMEM;
			break;
		}
		row->call->flags |= site->flags;
		row->call->has_stacks |= site->level == HK_LEVEL_STACK;
		r = hk_report_numbers_add_cell(&row->call->numbers, &cell, site);
	}
	free(sites.by_id);
	return r;
}

static int by_rank_and_total(const void *a, const void *b)
{
	const struct hk_report_call *x = a, *y = b;

	if (x->rank != y->rank) {
		return x->rank < y->rank ? -1 : 1;
	}
	if (x->numbers.have_total != y->numbers.have_total) {
		return x->numbers.have_total ? -1 : 1;
	}
	if (x->numbers.total_ns != y->numbers.total_ns) {
		return x->numbers.total_ns > y->numbers.total_ns ? -1 : 1;
	}
	if (x->numbers.calls != y->numbers.calls) {
		return x->numbers.calls > y->numbers.calls ? -1 : 1;
	}
	int order = strcmp(x->function, y->function);
	order = order ? order : strcmp(x->library, y->library);
	return order ? order : strcmp(x->role, y->role);
}

static void rows_free(struct row **rows)
{
	struct row *row, *next;

	HASH_ITER (hh, *rows, row, next) {
		HASH_DEL(*rows, row);
		free(row);
	}
}

/* A process and its index, to sort processes by rank and to keep their order within a rank. */
struct ranked {
	const Hk__Process *process;
	size_t index;
};

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int32_t rank = hk_report_rank_of(x->process), other = hk_report_rank_of(y->process);

	if (rank != other) {
		return rank < other ? -1 : 1;
	}
	return (x->index > y->index) - (x->index < y->index);
}

/* Sums the calls rank by rank, so that the table that finds rows holds one rank only. */
static int all_calls(struct hk_report *report, const Hk__Snapshot *snapshot)
{
	struct ranked *ranked = malloc((snapshot->n_processes + 1) * sizeof(*ranked));
	struct row *rows = NULL;
	int r = ranked ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < snapshot->n_processes; i++) {
		ranked[i] = (struct ranked){snapshot->processes[i], i};
	}
	if (r == 0) {
		qsort(ranked, snapshot->n_processes, sizeof(*ranked), by_rank);
	}
	for (size_t i = 0; r == 0 && i < snapshot->n_processes; i++) {
		const Hk__Process *process = ranked[i].process;
		if (i > 0 &&
		    hk_report_rank_of(process) != hk_report_rank_of(ranked[i - 1].process)) {
			rows_free(&rows);
		}
		r = process_calls(report, &rows, process);
	}
	rows_free(&rows);
	free(ranked);
	return r;
}

int hk_report_rows_calls(struct hk_report *report, const Hk__Snapshot *snapshot)
{
	size_t most = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		most += hk_columns_rows(snapshot->processes[i]->cells);
	}
	/* The rows are made in place: a large job has tens of MiB of them. The kernel does not back
	 * pages of calloc that stay unused. */
	report->calls = calloc(most + 1, sizeof(*report->calls));
	if (!report->calls) {
		return -ENOMEM;
	}
	int r = all_calls(report, snapshot);
	for (size_t i = 0; r == 0 && i < report->call_count; i++) {
		hk_report_numbers_finish(&report->calls[i].numbers);
	}
	if (r == 0) {
		qsort(report->calls, report->call_count, sizeof(*report->calls), by_rank_and_total);
	}
	return r;
}

static int by_rank_and_depth(const void *a, const void *b)
{
	const struct hk_report_open_call *x = a, *y = b;

	if (x->rank != y->rank) {
		return x->rank < y->rank ? -1 : 1;
	}
	int order = strcmp(x->role, y->role);
	if (order != 0) {
		return -order;
	}
	if (x->thread != y->thread) {
		return x->thread < y->thread ? -1 : 1;
	}
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static const char *thread_name(const Hk__Process *process, uint64_t uid)
{
	for (size_t i = 0; i < process->n_threads && i < THREADS_SEARCHED; i++) {
		if (process->threads[i]->uid == uid) {
			return process->threads[i]->name;
		}
	}
	return "";
}

static int process_open_calls(struct hk_report *report, const Hk__Process *process,
			      const struct hk_report_clock *clock)
{
	const Hk__Anchor *last = process->seen ? process->seen : process->end;
	struct sites sites;
	int r = sites_init(&sites, process);

	for (size_t i = 0; r == 0 && i < process->n_open_calls && i < OPEN_CALLS_MAX; i++) {
		const Hk__OpenCall *open = process->open_calls[i];
		const Hk__Site *site = sites_get(&sites, open->site);
		int64_t age = 0;
		if (!site) {
			continue;
		}
		if (last && last->ticks > open->start_ticks) {
			age = hk_report_clock_ns(clock, last->ticks) -
			      hk_report_clock_ns(clock, open->start_ticks);
		}
		struct hk_report_open_call row = {
		    .rank = hk_report_rank_of(process),
		    .role = hk_report_role_of(process),
		    .thread = open->tid,
		    .thread_name =
			hk_report_strings_get(&report->strings, thread_name(process, open->thread)),
		    .depth = open->depth,
		    .domain = hk_report_strings_get(&report->strings, site->domain),
		    .meaning = site->meaning,
		    .function = hk_report_strings_get(&report->strings, site->function),
		    .library = hk_report_strings_get(&report->strings, site->library),
		    .open_ns = (uint64_t)age,
		    .idle = process->role == HK__ROLE__ROLE_LAUNCHER ||
			    (open->tid != process->pid && hk_domain_is_idle(site->domain)),
		};
		if (!row.thread_name || !row.function || !row.library || !row.domain) {
			r = -ENOMEM;
			break;
		}
		report->open_calls[report->open_call_count++] = row;
	}
	free(sites.by_id);
	return r;
}

int hk_report_rows_open_calls(struct hk_report *report, const Hk__Snapshot *snapshot,
			      const struct hk_report_clock *clocks)
{
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		count += snapshot->processes[i]->n_open_calls;
	}
	report->open_calls = calloc(count + 1, sizeof(*report->open_calls));
	if (!report->open_calls) {
		return -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < snapshot->n_processes; i++) {
		r = process_open_calls(report, snapshot->processes[i], &clocks[i]);
	}
	qsort(report->open_calls, report->open_call_count, sizeof(*report->open_calls),
	      by_rank_and_depth);
	return r;
}

static int by_rank_and_time(const void *a, const void *b)
{
	const struct hk_report_step *x = a, *y = b;

	if (x->rank != y->rank) {
		return x->rank < y->rank ? -1 : 1;
	}
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

int hk_report_rows_steps(struct hk_report *report, const Hk__Snapshot *snapshot,
			 const struct hk_report_clock *clocks)
{
	size_t count = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		count += snapshot->processes[i]->n_governor;
	}
	report->steps = calloc(count + 1, sizeof(*report->steps));
	if (!report->steps) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		for (size_t k = 0; k < process->n_governor; k++) {
			const Hk__GovernorStep *from = process->governor[k];
			struct hk_report_step *to = &report->steps[report->step_count++];
			to->rank = hk_report_rank_of(process);
			to->role = hk_report_role_of(process);
			to->pattern = hk_report_strings_get(&report->strings, from->pattern);
			to->from = hk_level_name(from->from);
			to->to = hk_level_name(from->to);
			to->pinned = from->pinned;
			to->time_ns = hk_report_clock_ns(&clocks[i], from->ticks);
			if (!to->pattern) {
				return -ENOMEM;
			}
		}
	}
	qsort(report->steps, report->step_count, sizeof(*report->steps), by_rank_and_time);
	return 0;
}

int hk_report_rows_notes(struct hk_report *report, const Hk__Snapshot *snapshot)
{
	char text[HK_NAME_BYTES(NOTE_COLUMNS)];

	report->notes = calloc(snapshot->n_notes + 1, sizeof(*report->notes));
	if (!report->notes) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_notes; i++) {
		const Hk__Note *from = snapshot->notes[i];
		struct hk_report_note *to = &report->notes[report->note_count++];
		hk_name_print(text, NOTE_COLUMNS, from->text);
		to->kind = hk_report_strings_get(&report->strings, from->kind);
		to->text = hk_report_strings_get(&report->strings, text);
		to->rank = from->rank;
		if (!to->kind || !to->text) {
			return -ENOMEM;
		}
	}
	return 0;
}
