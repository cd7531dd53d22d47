#include "report/build/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/agreement/agreements.h"
#include "report/build/activity_fill.h"
#include "report/build/bare.h"
#include "report/build/connections.h"
#include "report/build/memory.h"
#include "report/build/nodes.h"
#include "report/build/process.h"
#include "report/build/rows.h"
#include "report/build/runtimes.h"
#include "report/build/transfers.h"
#include "report/clock/job_clock.h"
#include "report/model/activity.h"
#include "report/model/numbers.h"
#include "report/model/role.h"
#include "report/trigger/triggers.h"
#include "report/wait/waits_fill.h"

static int job_texts(struct hk_report *report, const Hk__Job *job)
{
	struct hk_report_job *to = &report->job;

	to->id = hk_report_strings_get(&report->strings, job ? job->id : "");
	to->name = hk_report_strings_get(&report->strings, job ? job->name : "");
	to->command = hk_report_strings_get(&report->strings, job ? job->command : "");
	to->directory = hk_report_strings_get(&report->strings, job ? job->directory : "");
	to->exit = hk_report_strings_get(&report->strings, job ? job->exit : "");
	to->store_error = hk_report_strings_get(&report->strings, job ? job->store_error : "");
	return to->id && to->name && to->command && to->directory && to->exit && to->store_error
		   ? 0
		   : -ENOMEM;
}

static void clocks_fill(struct hk_report *report, const Hk__Snapshot *snapshot)
{
	struct hk_report_job *to = &report->job;

	to->nodes = hk_report_clock_nodes(snapshot);
	to->clocks_known = true;
	to->sync_checks = snapshot->job ? snapshot->job->sync_checks : 0;
	to->sync_violations = snapshot->job ? snapshot->job->sync_violations : 0;
	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_node_clock *clock = &report->ranks[i].clock;
		to->clocks_known &= clock->known;
		to->clock_error_ns =
		    clock->error_ns > to->clock_error_ns ? clock->error_ns : to->clock_error_ns;
	}
}

/* Runs after the rows: if the job has no duration of its own, it comes from the ranks. */
static void job_fill(struct hk_report *report, const Hk__Snapshot *snapshot)
{
	struct hk_report_job *to = &report->job;
	const Hk__Job *job = snapshot->job;

	to->start_unix_ns = hk_report_clock_origin(snapshot);
	to->duration_ns = job ? job->duration_ns : 0;
	to->world_size = job ? job->world_size : -1;
	to->closed = job && job->closed;
	to->store_full = job && job->store_full && !job->closed;
	if (!to->closed && snapshot->now_unix_ns > to->start_unix_ns + to->duration_ns) {
		to->duration_ns = snapshot->now_unix_ns - to->start_unix_ns;
	}
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		to->tracing_cost_ns += process->tracing_cost_ns;
		to->calls_untracked += process->calls_untracked;
		to->calls_untimed += process->calls_untimed;
		to->records += hk_report_records_of(process);
		to->lost_records += process->lost_records;
		to->shed_records += process->records_shed;
		if (process->world_size > to->world_size) {
			to->world_size = process->world_size;
		}
	}
	if (to->world_size < 1) {
		to->world_size = 1;
	}
	for (size_t i = 0; to->duration_ns == 0 && i < report->rank_count; i++) {
		to->duration_ns =
		    report->ranks[i].end_ns > 0 ? (uint64_t)report->ranks[i].end_ns : 0;
	}
}

int hk_report_new(const Hk__Snapshot *snapshot, struct hk_report **ret_report)
{
	struct hk_report_clock *clocks;
	struct hk_report *report;
	int r = hk_report_clock_all(snapshot, &clocks);

	if (r < 0) {
		return r;
	}
	report = calloc(1, sizeof(*report));
	r = report ? job_texts(report, snapshot->job) : -ENOMEM;
	if (r == 0) {
		report->folded = snapshot->folded;
		r = hk_report_process_fill(report, snapshot, clocks);
	}
	if (r == 0) {
		r = hk_report_rows_calls(report, snapshot);
	}
	if (r == 0) {
		r = hk_report_transfers_fill(report);
	}
	if (r == 0) {
		r = hk_report_agreements_fill(report, snapshot);
	}
	if (r == 0) {
		r = hk_report_waits_fill(report, snapshot);
	}
	if (r == 0) {
		r = hk_report_triggers_fill(report, snapshot);
	}
	if (r == 0) {
		r = hk_report_memory_fill(report, snapshot, clocks);
	}
	if (r == 0) {
		r = hk_report_activity_fill(report, snapshot, clocks);
	}
	if (r == 0) {
		r = hk_report_rows_open_calls(report, snapshot, clocks);
	}
	if (r == 0) {
		r = hk_report_rows_steps(report, snapshot, clocks);
	}
	if (r == 0) {
		r = hk_report_bare_fill(report, snapshot);
	}
	if (r == 0) {
		r = hk_report_connections_fill(report, snapshot);
	}
	if (r == 0) {
		r = hk_report_rows_notes(report, snapshot);
	}
	if (r == 0) {
		r = hk_report_runtimes_fill(report, snapshot);
	}
	if (r == 0) {
		r = hk_report_nodes_fill(report, snapshot);
	}
	free(clocks);
	if (r < 0) {
		hk_report_free(report);
		return r;
	}
	job_fill(report, snapshot);
	clocks_fill(report, snapshot);
	*ret_report = report;
	return 0;
}

struct hk_report *hk_report_free(struct hk_report *report)
{
	if (!report) {
		return NULL;
	}
	for (size_t i = 0; i < report->call_count; i++) {
		hk_report_numbers_fini(&report->calls[i].numbers);
	}
	free(report->calls);
	free(report->ranks);
	free(report->processes);
	free(report->memory);
	for (size_t i = 0; i < report->memory_series_count; i++) {
		free(report->memory_series[i].max_bytes);
		free(report->memory_series[i].last_bytes);
	}
	free(report->memory_series);
	hk_report_activity_free(report);
	free(report->open_calls);
	free(report->steps);
	free(report->bare);
	free(report->connections);
	free(report->addresses);
	free(report->notes);
	free(report->transfers);
	free(report->agreements);
	free(report->waits);
	free(report->triggers.list);
	free(report->runtimes);
	free(report->nodes);
	hk_report_strings_fini(&report->strings);
	free(report);
	return NULL;
}
