#include "cli/export/sqlite/sqlite_report.h"

#include <errno.h>
#include <string.h>

#include "report/build/build.h"
#include "report/model/report.h"
#include "report/model/role.h"
#include "sketch/histogram.h"

struct tables {
	struct hk_sqlite *file;
	struct hk_sqlite_sites *sites;
	const struct hk_export_job *job;
	const struct hk_report *report;
};

/* Returns whether RANK has an exported process. Processes are sorted by rank, those without one
 * (-1) last: as unsigned numbers they rise. */
static bool takes_part(const struct hk_export_job *job, int32_t rank)
{
	size_t low = 0, high = job->process_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if ((uint32_t)job->processes[middle]->rank < (uint32_t)rank) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < job->process_count && job->processes[low]->rank == rank;
}

/* ---- the job and its processes ---- */

static void put_job(const struct tables *tables)
{
	const struct hk_report_job *job = &tables->report->job;
	const struct hk_export_job *asked = tables->job;
	sqlite3_stmt *insert = hk_sqlite_insert(tables->file, "job", 17);

	hk_sqlite_row(tables->file, insert, "ttttiuuiuuuuuuooo", job->id, job->name, job->command,
		      job->exit, (int64_t)job->closed, job->start_unix_ns, job->duration_ns,
		      (int64_t)job->world_size, (uint64_t)job->nodes, job->tracing_cost_ns,
		      job->calls_untracked, job->records, job->lost_records, job->shed_records,
		      job->clocks_known, job->clock_error_ns, asked->from_ns > 0,
		      asked->from_ns - asked->origin_ns, asked->to_ns < UINT64_MAX,
		      asked->to_ns - asked->origin_ns);
	hk_sqlite_done(tables->file, insert);
}

static void put_ranks(const struct tables *tables)
{
	sqlite3_stmt *insert = hk_sqlite_insert(tables->file, "ranks", 17);

	for (size_t i = 0; i < tables->report->rank_count; i++) {
		const struct hk_report_rank *rank = &tables->report->ranks[i];
		const struct hk_report_node_clock *clock = &rank->clock;

		if (!takes_part(tables->job, rank->rank)) {
			continue;
		}
		hk_sqlite_row(tables->file, insert, "ituiiiuutouuuuiio", (int64_t)rank->rank,
			      rank->host, (uint64_t)rank->pid, rank->start_ns, rank->end_ns,
			      rank->end_ns - rank->start_ns, rank->cpu_ns, rank->rss_peak_bytes,
			      rank->exit.kind, rank->exit.have_code, (uint64_t)rank->exit.code,
			      rank->records, rank->lost_records, rank->shed_records,
			      rank->tracing_cost_ns, clock->offset_ns, clock->drift_ppb,
			      clock->known, clock->error_ns);
	}
	hk_sqlite_done(tables->file, insert);
}

/* Returns the row number of PROCESS: that of the same process among the exported ones, else a new
 * one. */
static int64_t process_id(const struct tables *tables, const struct hk_report_process *process,
			  size_t row)
{
	const struct hk_export_job *job = tables->job;

	for (size_t i = 0; i < job->process_count; i++) {
		const struct hk_export_process *shown = job->processes[i];

		if (shown->pid == process->pid && shown->rank == process->rank &&
		    shown->start_ns == job->origin_ns + (uint64_t)process->start_ns) {
			return (int64_t)shown->index + 1;
		}
	}
	return (int64_t)(job->process_count + row) + 1;
}

static void put_coverage(const struct tables *tables, sqlite3_stmt *insert, int64_t id,
			 const struct hk_report_process *process)
{
	hk_sqlite_row(tables->file, insert, "iuuuuuuuuut", id, (uint64_t)process->objects,
		      (uint64_t)process->objects_pending, (uint64_t)process->objects_hidden,
		      (uint64_t)process->namespaces_hidden, (uint64_t)process->slots_found,
		      (uint64_t)process->slots_patched, (uint64_t)process->slots_refused,
		      (uint64_t)process->symbols_escaped, (uint64_t)process->hooks_in_force,
		      process->coverage);
}

static void put_processes(const struct tables *tables)
{
	sqlite3_stmt *insert = hk_sqlite_insert(tables->file, "processes", 17);
	sqlite3_stmt *coverage = hk_sqlite_insert(tables->file, "coverage", 11);

	for (size_t i = 0; i < tables->report->process_count; i++) {
		const struct hk_report_process *process = &tables->report->processes[i];
		int64_t id = process_id(tables, process, i);

		if (!takes_part(tables->job, process->rank)) {
			continue;
		}
		hk_sqlite_row(tables->file, insert, "iittutttiitouuuuu", id, (int64_t)process->rank,
			      process->role, process->host, (uint64_t)process->pid,
			      process->command, process->agent, process->note, process->start_ns,
			      process->end_ns, process->exit.kind, process->exit.have_code,
			      (uint64_t)process->exit.code, process->records, process->lost_records,
			      process->shed_records, process->calls_untracked,
			      process->tracing_cost_ns);
		put_coverage(tables, coverage, id, process);
	}
	hk_sqlite_done(tables->file, insert);
	hk_sqlite_done(tables->file, coverage);
}

/* ---- calls, summed ---- */

static void put_histogram(const struct tables *tables, sqlite3_stmt *insert, int64_t site,
			  const struct hk_report_call *call)
{
	const struct hk_report_buckets *buckets = &call->numbers.buckets;

	for (size_t i = 0; i < buckets->used; i++) {
		uint64_t low_ns = hk_histogram_lower_ns(buckets->index[i]);

		hk_sqlite_row(tables->file, insert, "itiuuu", (int64_t)call->rank, call->role, site,
			      low_ns, low_ns + hk_histogram_width_ns(buckets->index[i]),
			      buckets->count[i]);
	}
}

static void put_statistics(const struct tables *tables)
{
	sqlite3_stmt *insert = hk_sqlite_insert(tables->file, "statistics", 16);
	sqlite3_stmt *histogram = hk_sqlite_insert(tables->file, "histograms", 6);

	for (size_t i = 0; i < tables->report->call_count && insert && histogram; i++) {
		const struct hk_report_call *call = &tables->report->calls[i];
		const struct hk_report_numbers *n = &call->numbers;

		if (!takes_part(tables->job, call->rank)) {
			continue;
		}
		/* All its sites are present, with their meanings. */
		int64_t site =
		    hk_sqlite_site(tables->sites, call->domain, call->function, call->library, 0);

		hk_sqlite_row(tables->file, insert, "itiuuoooooooooou", (int64_t)call->rank,
			      call->role, site, n->calls, n->errors, n->have_total, n->total_ns,
			      n->have_total, n->self_ns, n->have_total, n->outermost_ns,
			      n->have_bytes, n->bytes, n->have_latency, n->min_ns, n->have_latency,
			      n->mean_ns, n->have_latency, n->p50_ns, n->have_latency, n->p90_ns,
			      n->have_latency, n->p99_ns, n->have_latency, n->max_ns,
			      (uint64_t)n->estimated);
		put_histogram(tables, histogram, site, call);
	}
	hk_sqlite_done(tables->file, insert);
	hk_sqlite_done(tables->file, histogram);
}

/* Writes all sites, including those that were never called. */
static int put_sites(const struct tables *tables)
{
	const Hk__Snapshot *snapshot = tables->job->snapshot;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];

		if (!takes_part(tables->job, hk_report_rank_of(process))) {
			continue;
		}
		for (size_t k = 0; k < process->n_sites; k++) {
			const Hk__Site *site = process->sites[k];
			int64_t id = hk_sqlite_site(tables->sites, site->domain, site->function,
						    site->library, site->meaning);
			if (id < 0) {
				return (int)id;
			}
		}
	}
	return 0;
}

/* ---- memory ---- */

static void put_memory(const struct tables *tables)
{
	sqlite3_stmt *insert = hk_sqlite_insert(tables->file, "memory", 13);

	for (size_t i = 0; i < tables->report->memory_count; i++) {
		const struct hk_report_memory *memory = &tables->report->memory[i];

		if (takes_part(tables->job, memory->rank)) {
			hk_sqlite_row(tables->file, insert, "itittuuuuuuio", (int64_t)memory->rank,
				      memory->role, (int64_t)memory->device, memory->kind,
				      memory->library, memory->allocs, memory->frees,
				      memory->live_bytes, memory->peak_bytes, memory->peak_low,
				      memory->peak_high, memory->peak_time_ns, memory->have_at_peak,
				      memory->at_peak_bytes);
		}
	}
	hk_sqlite_done(tables->file, insert);
}

static void put_series(const struct tables *tables)
{
	sqlite3_stmt *insert = hk_sqlite_insert(tables->file, "memory_series", 9);

	for (size_t i = 0; i < tables->report->memory_series_count; i++) {
		const struct hk_report_memory_series *series = &tables->report->memory_series[i];
		int64_t width_ns = (int64_t)series->width_ns, start_ns = series->start_ns;

		for (size_t k = 0; k < series->count && takes_part(tables->job, series->rank);
		     k++) {
			hk_sqlite_row(tables->file, insert, "ituitiiuu", (int64_t)series->rank,
				      series->role, (uint64_t)series->pid, (int64_t)series->device,
				      series->kind, start_ns, start_ns + width_ns,
				      series->max_bytes[k], series->last_bytes[k]);
			start_ns += width_ns;
		}
	}
	hk_sqlite_done(tables->file, insert);
}

/* ---- the rest ---- */

static void put_open_calls(const struct tables *tables)
{
	sqlite3_stmt *insert = hk_sqlite_insert(tables->file, "open_calls", 8);

	for (size_t i = 0; i < tables->report->open_call_count; i++) {
		const struct hk_report_open_call *open = &tables->report->open_calls[i];

		if (takes_part(tables->job, open->rank)) {
			hk_sqlite_row(tables->file, insert, "itututtu", (int64_t)open->rank,
				      open->role, (uint64_t)open->thread, open->thread_name,
				      (uint64_t)open->depth, open->function, open->library,
				      open->open_ns);
		}
	}
	hk_sqlite_done(tables->file, insert);
}

static void put_governor(const struct tables *tables)
{
	sqlite3_stmt *insert = hk_sqlite_insert(tables->file, "governor", 7);

	for (size_t i = 0; i < tables->report->step_count; i++) {
		const struct hk_report_step *step = &tables->report->steps[i];

		if (takes_part(tables->job, step->rank)) {
			hk_sqlite_row(tables->file, insert, "ittttii", (int64_t)step->rank,
				      step->role, step->pattern, step->from, step->to,
				      (int64_t)step->pinned, step->time_ns);
		}
	}
	hk_sqlite_done(tables->file, insert);
}

static void put_nodes(const struct tables *tables)
{
	sqlite3_stmt *insert = hk_sqlite_insert(tables->file, "nodes", 6);

	for (size_t i = 0; i < tables->report->node_count; i++) {
		const struct hk_report_node *node = &tables->report->nodes[i];

		hk_sqlite_row(tables->file, insert, "ttuuuu", node->host, node->state,
			      (uint64_t)node->processes, (uint64_t)node->live, node->unsent_bytes,
			      node->shed_records);
	}
	hk_sqlite_done(tables->file, insert);
}

int hk_sqlite_report(struct hk_sqlite *file, struct hk_sqlite_sites *sites,
		     const struct hk_export_job *job)
{
	struct hk_report *report;
	int rc = hk_report_new(job->snapshot, &report);

	if (rc < 0) {
		return rc;
	}
	const struct tables tables = {.file = file, .sites = sites, .job = job, .report = report};

	rc = put_sites(&tables);
	put_job(&tables);
	put_ranks(&tables);
	put_processes(&tables);
	put_statistics(&tables);
	put_memory(&tables);
	put_series(&tables);
	put_open_calls(&tables);
	put_governor(&tables);
	put_nodes(&tables);
	hk_report_free(report);
	return rc < 0 ? rc : hk_sqlite_error(file);
}
