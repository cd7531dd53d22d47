/* Writes the JSON contract row by row, so that a job of many ranks needs no tree of all rows. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "report/findings/findings.h"
#include "report/model/bare.h"
#include "report/model/report.h"
#include "report/trigger/triggers.h"
#include "report/write/coverage_write.h"
#include "report/write/findings_write.h"
#include "report/write/nodes_write.h"
#include "report/write/write.h"
#include "text/json_stream.h"
#include "text/name.h"

#define ROW_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(15))

/* The contract's numbers are unsigned 64 bits, jansson's signed. Larger numbers are clamped; real
 * values do not come near. */
static json_t *number(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *number_if(bool measured, uint64_t value)
{
	return measured ? number(value) : json_null();
}

static json_t *text(const char *value)
{
	char *clean = hk_name_utf8(value);
	json_t *string = clean ? json_string_nocheck(clean) : NULL;

	free(clean);
	return string;
}

static json_t *exit_json(const struct hk_report_exit *exit)
{
	return json_pack("{s:s, s:o}", "kind", exit->kind, "code",
			 exit->have_code ? json_integer(exit->code) : json_null());
}

static json_t *job_json(const void *row)
{
	const struct hk_report_job *job = row;

	return json_pack(
	    "{s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:b, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, "
	    "s:o}",
	    "id", text(job->id), "name", text(job->name), "command", text(job->command),
	    "start_unix_ns", number(job->start_unix_ns), "duration_ns", number(job->duration_ns),
	    "world_size", (int)job->world_size, "tracing_cost_ns", number(job->tracing_cost_ns),
	    "closed", (int)job->closed, "exit", text(job->exit), "calls_untracked",
	    number(job->calls_untracked), "calls_untimed", number(job->calls_untimed),
	    "store_error", text(job->store_error), "store_full", (int)job->store_full, "nodes",
	    number(job->nodes), "clock_error_ns", number_if(job->clocks_known, job->clock_error_ns),
	    "sync_checks", number(job->sync_checks), "sync_violations",
	    number(job->sync_violations));
}

/* All members are null if the error of the node's clock is unknown. */
static json_t *clock_json(const struct hk_report_node_clock *clock)
{
	if (!clock->known) {
		return json_pack("{s:n, s:n, s:n, s:n}", "offset_ns", "drift_ppm", "error_ns",
				 "fit_error_ns");
	}
	return json_pack("{s:I, s:f, s:o, s:o}", "offset_ns", (json_int_t)clock->offset_ns,
			 "drift_ppm", (double)clock->drift_ppb / 1e3, "error_ns",
			 number(clock->error_ns), "fit_error_ns", number(clock->fit_error_ns));
}

static json_t *rank_json(const void *row)
{
	const struct hk_report_rank *rank = row;

	return json_pack("{s:i, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "rank", (int)rank->rank, "host", text(rank->host), "pid",
			 number(rank->pid), "start_ns", (json_int_t)rank->start_ns, "end_ns",
			 rank->running ? json_null() : json_integer(rank->end_ns), "cpu_ns",
			 number(rank->cpu_ns), "rss_peak_bytes", number(rank->rss_peak_bytes),
			 "memory_limit_bytes",
			 rank->memory_limit_bytes ? number(rank->memory_limit_bytes) : json_null(),
			 "exit", exit_json(&rank->exit), "records", number(rank->records),
			 "lost_records", number(rank->lost_records), "shed_records",
			 number(rank->shed_records), "clock", clock_json(&rank->clock),
			 "tracing_cost_ns", number(rank->tracing_cost_ns));
}

static json_t *device_time_json(const struct hk_report_device_time *device)
{
	if (!device->known) {
		return json_null();
	}
	return json_pack("{s:s, s:s, s:o, s:i, s:o, s:o, s:o, s:o, s:o}", "state", device->state,
			 "library", device->library, "version", number(device->version), "status",
			 (int)device->status, "activities", number(device->activities), "dropped",
			 number(device->dropped), "unlinked", number(device->unlinked), "skipped",
			 number(device->skipped), "yields", number(device->yields));
}

static json_t *process_json(const void *row)
{
	const struct hk_report_process *process = row;

	return json_pack(
	    "{s:i, s:o, s:s, s:o, s:o, s:s, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
	    "s:o, s:o, s:o, s:o}",
	    "rank", (int)process->rank, "pid", number(process->pid), "role", process->role,
	    "command", text(process->command), "exit", exit_json(&process->exit), "agent",
	    process->agent, "note", text(process->note), "host", text(process->host), "start_ns",
	    (json_int_t)process->start_ns, "end_ns",
	    process->running ? json_null() : json_integer(process->end_ns), "records",
	    number(process->records), "lost_records", number(process->lost_records), "shed_records",
	    number(process->shed_records), "calls_untracked", number(process->calls_untracked),
	    "calls_untimed", number(process->calls_untimed), "tracing_cost_ns",
	    number(process->tracing_cost_ns), "calls", number(process->calls), "errors",
	    number(process->errors), "inside_ns",
	    process->have_inside ? number(process->inside_ns) : json_null(), "device_time",
	    device_time_json(&process->device_time));
}

static json_t *memory_json(const void *row)
{
	const struct hk_report_memory *memory = row;

	return json_pack(
	    "{s:i, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "rank",
	    (int)memory->rank, "role", memory->role, "device", (int)memory->device, "kind",
	    text(memory->kind), "library", text(memory->library), "allocs", number(memory->allocs),
	    "frees", number(memory->frees), "live_bytes", number(memory->live_bytes), "peak_bytes",
	    number(memory->peak_bytes), "peak_low", number(memory->peak_low), "peak_high",
	    number(memory->peak_high), "peak_time_ns", (json_int_t)memory->peak_time_ns,
	    "at_peak_bytes", memory->have_at_peak ? number(memory->at_peak_bytes) : json_null());
}

static json_t *open_call_json(const void *row)
{
	const struct hk_report_open_call *open = row;

	return json_pack("{s:i, s:o, s:i, s:o, s:o, s:o, s:s, s:o}", "rank", (int)open->rank,
			 "thread", number(open->thread), "depth", (int)open->depth, "function",
			 text(open->function), "library", text(open->library), "open_ns",
			 number(open->open_ns), "role", open->role, "thread_name",
			 text(open->thread_name));
}

static json_t *coverage_json(const void *row)
{
	return hk_coverage_json(row);
}

static json_t *step_json(const void *row)
{
	const struct hk_report_step *step = row;

	return json_pack("{s:i, s:o, s:s, s:s, s:I, s:s, s:b}", "rank", (int)step->rank, "pattern",
			 text(step->pattern), "from", step->from, "to", step->to, "time_ns",
			 (json_int_t)step->time_ns, "role", step->role, "pinned",
			 (int)step->pinned);
}

static json_t *bare_json(const void *row)
{
	const struct hk_report_bare *bare = row;

	return json_pack("{s:i, s:s, s:o, s:o, s:s, s:o}", "rank", (int)bare->rank, "role",
			 bare->role, "pid", number(bare->pid), "program", text(bare->program),
			 "reason", hk_bare_key(bare->reason), "times", number(bare->times));
}

static json_t *runtime_json(const void *row)
{
	const struct hk_report_runtime *runtime = row;

	return json_pack("{s:i, s:s, s:o, s:o, s:s, s:b}", "rank", (int)runtime->rank, "role",
			 runtime->role, "pid", number(runtime->pid), "library",
			 text(runtime->library), "runtime", "cuda", "driver", (int)runtime->driver);
}

static json_t *transfer_json(const void *row)
{
	const struct hk_report_transfer *transfer = row;
	char comm[17];

	snprintf(comm, sizeof(comm), "%016" PRIx64, transfer->comm);
	return json_pack("{s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f}",
			 "rank", (int)transfer->rank, "role", transfer->role, "communicator", comm,
			 "ranks", number(transfer->ranks), "function", text(transfer->function),
			 "size_bytes", number(UINT64_C(1) << transfer->size_log2), "operations",
			 number(transfer->operations), "bytes", number(transfer->bytes), "total_ns",
			 number(transfer->total_ns), "min_ns", number(transfer->min_ns), "max_ns",
			 number(transfer->max_ns), "algorithm_gbps", transfer->algorithm_gbps,
			 "bus_gbps", transfer->bus_gbps);
}

/* The first step at which ranks differ, or null. */
static json_t *divergence_json(const struct hk_report_agreement *row)
{
	return !row->differs ? json_null()
			     : json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:s}", "step",
					 number(row->step), "tensor",
					 *row->tensor ? text(row->tensor) : json_null(), "tensors",
					 number(row->tensors), "of", number(row->of), "ranks",
					 text(row->odd), "others", text(row->others), "majority",
					 (int)!row->tie, "missing_ranks", number(row->missing),
					 "confidence", row->confidence);
}

static json_t *agreement_json(const void *at)
{
	const struct hk_report_agreement *row = at;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "group", text(row->group), "ranks",
			 number(row->expected), "ranks_reporting", number(row->reporting),
			 "compared_steps", number(row->compared), "differing_steps",
			 number(row->differing), "last_step", number(row->last_step), "divergence",
			 divergence_json(row));
}

static json_t *late_json(const struct hk_report_wait *wait)
{
	json_t *list = json_array();

	for (size_t i = 0; i < wait->late_count; i++) {
		const struct hk_report_late *late = &wait->late[i];
		json_array_append_new(list, json_pack("{s:i, s:o, s:o, s:o}", "rank",
						      (int)late->rank, "times", number(late->times),
						      "wait_ns", number(late->wait_ns),
						      "longest_ns", number(late->longest_ns)));
	}
	return list;
}

static json_t *wait_json(const void *at)
{
	const struct hk_report_wait *wait = at;
	char comm[20];

	snprintf(comm, sizeof(comm), "%016" PRIx64, wait->comm);
	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "function",
			 text(wait->function), "communicator", comm, "collectives",
			 number(wait->collectives), "together", number(wait->together), "wait_ns",
			 number(wait->wait_ns), "skew_ns", number(wait->skew_ns), "longest_skew_ns",
			 number(wait->longest_skew_ns), "clock_error_ns", number(wait->error_ns),
			 "awaited", late_json(wait));
}

static json_t *matching_json(const struct hk_report_matching *matching)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "collectives",
			 number(matching->collectives), "contradicting", number(matching->doubtful),
			 "incomplete", number(matching->incomplete), "unnumbered",
			 number(matching->unsure), "late_calls", number(matching->late),
			 "dropped_calls", number(matching->dropped), "clockless_calls",
			 number(matching->clockless), "open", number(matching->open));
}

static json_t *node_json(const void *row)
{
	return hk_report_node_json(row);
}

/* Writes one row and frees it. */
static int dump(json_t *row, FILE *output)
{
	int r = row ? json_dumpf(row, output, ROW_FLAGS) : -1;

	json_decref(row);
	return r == 0 ? 0 : -EIO;
}

static int array(FILE *output, const char *name, const void *rows, size_t count, size_t stride,
		 json_t *(*make)(const void *row))
{
	fprintf(output, ",\n\"%s\": [", name);
	for (size_t i = 0; i < count; i++) {
		fputs(i > 0 ? ",\n " : "\n ", output);
		int r = dump(make((const char *)rows + i * stride), output);
		if (r < 0) {
			return r;
		}
	}
	fputc(']', output);
	return 0;
}

static void put_if(struct hk_json *json, const char *key, bool measured, uint64_t value)
{
	if (measured) {
		hk_json_uint(json, key, value);
	} else {
		hk_json_null(json, key);
	}
}

static void write_call(const struct hk_report_call *call, struct hk_json *json)
{
	const struct hk_report_numbers *n = &call->numbers;

	hk_json_open(json, NULL, '{');
	hk_json_int(json, "rank", call->rank);
	hk_json_string(json, "role", call->role);
	hk_json_string(json, "domain", call->domain);
	hk_json_string(json, "function", call->function);
	hk_json_string(json, "library", call->library);
	hk_json_uint(json, "calls", n->calls);
	hk_json_uint(json, "errors", n->errors);
	put_if(json, "total_ns", n->have_total, n->total_ns);
	put_if(json, "self_ns", n->have_total, n->self_ns);
	put_if(json, "outermost_ns", n->have_total, n->outermost_ns);
	put_if(json, "outermost_calls", n->have_total,
	       n->inner_calls < n->calls ? n->calls - n->inner_calls : 0);
	put_if(json, "device_ns", n->have_device, n->device_ns);
	put_if(json, "bytes", n->have_bytes, n->bytes);
	put_if(json, "min_ns", n->have_latency, n->min_ns);
	put_if(json, "mean_ns", n->have_latency, n->mean_ns);
	put_if(json, "p50_ns", n->have_latency, n->p50_ns);
	put_if(json, "p90_ns", n->have_latency, n->p90_ns);
	put_if(json, "p99_ns", n->have_latency, n->p99_ns);
	put_if(json, "max_ns", n->have_latency, n->max_ns);
	hk_json_close(json, '}');
}

/* Writes calls as a stream: a job of a thousand ranks has hundreds of thousands, and json_t trees
 * for them take seconds. */
static int calls(const struct hk_report *report, FILE *output)
{
	struct hk_json json = {.output = output};

	fputs(",\n\"calls\": [", output);
	for (size_t i = 0; i < report->call_count; i++) {
		hk_json_newline(&json);
		putc_unlocked(' ', output);
		write_call(&report->calls[i], &json);
	}
	fputc(']', output);
	return ferror(output) ? -EIO : 0;
}

static void write_bins(const char *key, const uint64_t *bins, size_t count, struct hk_json *json)
{
	hk_json_open(json, key, '[');
	for (size_t i = 0; i < count; i++) {
		hk_json_uint(json, NULL, bins[i]);
	}
	hk_json_close(json, ']');
}

static int memory_series(const struct hk_report *report, FILE *output)
{
	struct hk_json json = {.output = output};

	fputs(",\n\"memory_series\": [", output);
	for (size_t i = 0; i < report->memory_series_count; i++) {
		const struct hk_report_memory_series *series = &report->memory_series[i];
		hk_json_newline(&json);
		putc_unlocked(' ', output);
		hk_json_open(&json, NULL, '{');
		hk_json_int(&json, "rank", series->rank);
		hk_json_string(&json, "role", series->role);
		hk_json_uint(&json, "pid", series->pid);
		hk_json_int(&json, "device", series->device);
		hk_json_string(&json, "kind", series->kind);
		hk_json_int(&json, "start_ns", series->start_ns);
		hk_json_uint(&json, "width_ns", series->width_ns);
		hk_json_int(&json, "end_ns", series->end_ns);
		write_bins("max_bytes", series->max_bytes, series->count, &json);
		write_bins("last_bytes", series->last_bytes, series->count, &json);
		hk_json_close(&json, '}');
	}
	fputc(']', output);
	return ferror(output) ? -EIO : 0;
}

/* Writes an array of at most `limit` rows. */
#define ARRAY(name, rows, count, make) \
	array(output, name, rows, (count) < limit ? (count) : limit, sizeof(*(rows)), make)

/* Writes the members of the document, at most LIMIT rows of each array. TABLES adds the arrays that
 * grow with the calls: calls, memory and memory_series. */
static int members(const struct hk_report *report, FILE *output, size_t limit, bool tables)
{
	fputs("\"job\": ", output);
	int r = dump(job_json(&report->job), output);
	r = r ? r : ARRAY("ranks", report->ranks, report->rank_count, rank_json);
	r = r ? r : ARRAY("processes", report->processes, report->process_count, process_json);
	r = r || !tables ? r : calls(report, output);
	r = r || !tables ? r : ARRAY("memory", report->memory, report->memory_count, memory_json);
	r = r || !tables ? r : memory_series(report, output);
	r = r ? r
	      : ARRAY("open_calls", report->open_calls, report->open_call_count, open_call_json);
	r = r ? r : ARRAY("coverage", report->processes, report->process_count, coverage_json);
	r = r ? r : ARRAY("governor", report->steps, report->step_count, step_json);
	r = r ? r : ARRAY("without_agent", report->bare, report->bare_count, bare_json);
	r = r ? r : ARRAY("static_runtimes", report->runtimes, report->runtime_count, runtime_json);
	r = r ? r : ARRAY("nccl", report->transfers, report->transfer_count, transfer_json);
	r = r ? r
	      : ARRAY("agreements", report->agreements, report->agreement_count, agreement_json);
	r = r ? r : ARRAY("waits", report->waits, report->wait_count, wait_json);
	if (r == 0) {
		fputs(",\n\"matching\": ", output);
		r = dump(matching_json(&report->matching), output);
	}
	if (r == 0) {
		fputs(",\n\"triggers\": ", output);
		r = dump(hk_report_triggers_json(report), output);
	}
	r = r ? r : ARRAY("nodes", report->nodes, report->node_count, node_json);
	return r == 0 && !ferror(output) ? 0 : -EIO;
}

static int findings_write(const struct hk_report *report, const struct hk_findings *findings,
			  FILE *output)
{
	struct hk_json json = {.output = output};

	fputs(",\n\"findings\": [", output);
	hk_findings_write_json(findings, report, true, &json);
	fputc(']', output);
	return ferror(output) ? -EIO : 0;
}

static int own_findings_write(const struct hk_report *report, FILE *output)
{
	struct hk_findings findings;
	int r = hk_findings_init(&findings, report);

	if (r == 0) {
		r = findings_write(report, &findings, output);
		hk_findings_fini(&findings);
	}
	return r;
}

int hk_report_write_json(const struct hk_report *report, const struct hk_findings *findings,
			 FILE *output)
{
	fputc('{', output);
	int r = members(report, output, SIZE_MAX, true);
	r = r	       ? r
	    : findings ? findings_write(report, findings, output)
		       : own_findings_write(report, output);
	fputs("}\n", output);
	return r == 0 && !ferror(output) ? 0 : -EIO;
}

int hk_report_write_json_facts(const struct hk_report *report, size_t limit, FILE *output)
{
	return members(report, output, limit, false);
}
