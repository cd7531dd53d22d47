#include "report/trigger/triggers.h"
#include "report/write/transfers_write.h"
#include "report/write/write.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/build/group.h"
#include "report/write/coverage_write.h"
#include "report/write/nodes_write.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/table.h"

#define NAME_COLUMNS 40

static void rank_add(struct hk_table *table, int32_t rank)
{
	if (rank >= 0) {
		hk_table_add(table, "%" PRId32, rank);
	} else {
		hk_table_add(table, "-");
	}
}

static void seconds(struct hk_table *table, bool measured, uint64_t ns)
{
	if (measured) {
		hk_table_add(table, "%.*f", ns > 0 && ns < 9950000 ? 6 : 3, (double)ns / 1e9);
	} else {
		hk_table_add(table, "-");
	}
}

static void duration(struct hk_table *table, bool measured, uint64_t ns)
{
	char text[HK_QUANTITY_BYTES];

	hk_table_add(table, "%s", measured ? hk_quantity_duration(text, ns) : "-");
}

static void bytes(struct hk_table *table, bool measured, uint64_t count)
{
	char text[HK_QUANTITY_BYTES];

	hk_table_add(table, "%s", measured ? hk_quantity_bytes(text, count) : "-");
}

static void imbalance(struct hk_table *table, const struct hk_group *group)
{
	if (group->imbalance > 0) {
		hk_table_add(table, "%.2f", group->imbalance);
	} else {
		hk_table_add(table, "-");
	}
}

static void numbers_add(struct hk_table *table, const struct hk_group *group)
{
	const struct hk_report_numbers *n = &group->numbers;

	hk_table_add(table, "%" PRIu64, n->calls);
	hk_table_add(table, "%" PRIu64, n->errors);
	seconds(table, n->have_total, n->total_ns);
	seconds(table, n->have_total, n->self_ns);
	bytes(table, n->have_bytes && n->bytes > 0, n->bytes);
	duration(table, n->have_latency, n->min_ns);
	duration(table, n->have_latency, n->mean_ns);
	duration(table, n->have_latency, n->p50_ns);
	duration(table, n->have_latency, n->p99_ns);
	if (n->have_latency) {
		char text[HK_QUANTITY_BYTES];
		if (group->max_rank >= 0) {
			hk_table_add(table, "%s@%" PRId32, hk_quantity_duration(text, n->max_ns),
				     group->max_rank);
		} else {
			hk_table_add(table, "%s", hk_quantity_duration(text, n->max_ns));
		}
	} else {
		hk_table_add(table, "-");
	}
	imbalance(table, group);
}

/* Whether a row has device time, which then gets a column of its own. */
static bool has_device(const struct hk_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		if (groups->groups[i].numbers.have_device) {
			return true;
		}
	}
	return false;
}

#define FUNCTION_HEADS "<call:40|<domain|<library:40|<role|"
#define NUMBER_HEADS ">calls|>errors|>total s|>self s|>bytes|>min|>mean|>p50|>p99|>max@rank|>imb"

static int calls_by_function(const struct hk_groups *groups, FILE *output, bool colour)
{
	bool device = has_device(groups);
	struct hk_table *table = hk_table_new(device ? FUNCTION_HEADS NUMBER_HEADS "|>device s"
						     : FUNCTION_HEADS NUMBER_HEADS);

	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_group *group = &groups->groups[i];
		hk_table_add(table, "%s%s", group->function,
			     group->numbers.estimated ? " (sampled)" : "");
		hk_table_add(table, "%s", group->domain);
		hk_table_add(table, "%s", hk_group_library(groups, i));
		hk_table_add(table, "%s", group->role);
		numbers_add(table, group);
		if (device) {
			seconds(table, group->numbers.have_device, group->numbers.device_ns);
		}
	}
	int r = hk_table_write(table, output, colour);
	hk_table_free(table);
	return r;
}

/* Writes a table with a row per rank, library or host. */
static int calls_by_place(const struct hk_groups *groups, enum hk_report_by by, FILE *output,
			  bool colour)
{
	struct hk_table *table =
	    hk_table_new(by == HK_REPORT_BY_RANK      ? ">rank|<host|<role|" NUMBER_HEADS
			 : by == HK_REPORT_BY_LIBRARY ? "<library:64|<role|" NUMBER_HEADS
						      : "<host|<role|" NUMBER_HEADS);

	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_group *group = &groups->groups[i];
		if (by == HK_REPORT_BY_RANK) {
			rank_add(table, group->rank);
		}
		hk_table_add(table, "%s",
			     by == HK_REPORT_BY_LIBRARY ? group->library : group->host);
		hk_table_add(table, "%s", group->role);
		numbers_add(table, group);
	}
	int r = hk_table_write(table, output, colour);
	hk_table_free(table);
	return r;
}

/* Writes a table with a row for each process of any rank and role, named by its command. */
static int calls_by_process(const struct hk_report *report, FILE *output, bool colour)
{
	struct hk_table *table = hk_table_new(
	    "<process:60|>pid|>rank|<role|<host|>calls|>errors|>inside s|<most time in:32|>wall s");

	for (size_t i = 0; i < report->process_count; i++) {
		const struct hk_report_process *p = &report->processes[i];
		int64_t wall_ns = p->end_ns - p->start_ns;
		hk_table_add(table, "%s", p->command);
		hk_table_add(table, "%" PRIu32, p->pid);
		rank_add(table, p->rank);
		hk_table_add(table, "%s", p->role);
		hk_table_add(table, "%s", p->host);
		hk_table_add(table, "%" PRIu64, p->calls);
		hk_table_add(table, "%" PRIu64, p->errors);
		seconds(table, p->have_inside, p->inside_ns);
		hk_table_add(table, "%s", p->most);
		seconds(table, wall_ns >= 0, (uint64_t)wall_ns);
	}
	int r = hk_table_write(table, output, colour);
	hk_table_free(table);
	return r;
}

static int calls_write(const struct hk_report *report, FILE *output, enum hk_report_by by,
		       bool colour)
{
	static const unsigned keys[] = {
	    [HK_REPORT_BY_FUNCTION] = HK_GROUP_FUNCTION | HK_GROUP_LIBRARY,
	    [HK_REPORT_BY_RANK] = HK_GROUP_RANK | HK_GROUP_HOST,
	    [HK_REPORT_BY_LIBRARY] = HK_GROUP_LIBRARY,
	    [HK_REPORT_BY_HOST] = HK_GROUP_HOST,
	};
	struct hk_groups groups;

	if (by == HK_REPORT_BY_PROCESS) {
		return calls_by_process(report, output, colour);
	}
	int r = hk_groups_init(&groups, report, keys[by]);

	if (r < 0) {
		return r;
	}
	if (groups.count == 0) {
		hk_coverage_write_empty(report, output);
	} else if (by == HK_REPORT_BY_FUNCTION) {
		r = calls_by_function(&groups, output, colour);
	} else {
		r = calls_by_place(&groups, by, output, colour);
	}
	hk_groups_fini(&groups);
	return r;
}

static int memory_write(const struct hk_report *report, FILE *output, bool colour)
{
	struct hk_table *table = hk_table_new(
	    ">rank|<role|>device|<memory|<library:64|>allocs|>frees|>live|>peak|>peak at s|<note");

	for (size_t i = 0; i < report->memory_count; i++) {
		const struct hk_report_memory *memory = &report->memory[i];
		rank_add(table, memory->rank);
		hk_table_add(table, "%s", memory->role);
		if (memory->device < 0) {
			hk_table_add(table, "host");
		} else {
			hk_table_add(table, "%" PRId32, memory->device);
		}
		hk_table_add(table, "%s", memory->kind);
		hk_table_add(table, "%s", memory->library);
		hk_table_add(table, "%" PRIu64, memory->allocs);
		hk_table_add(table, "%" PRIu64, memory->frees);
		bytes(table, true, memory->live_bytes);
		bytes(table, true, memory->peak_bytes);
		hk_table_add(table, "%.3f", (double)memory->peak_time_ns / 1e9);
		char low[HK_QUANTITY_BYTES], high[HK_QUANTITY_BYTES];
		bool exact = memory->peak_low == memory->peak_high;
		hk_table_add(table, "%s%s%s%s", exact ? "" : "peak between ",
			     exact ? "" : hk_quantity_bytes(low, memory->peak_low),
			     exact ? "" : " and ",
			     exact ? "" : hk_quantity_bytes(high, memory->peak_high));
	}
	int r = 0;
	if (report->memory_count > 0) {
		fputc('\n', output);
		r = hk_table_write(table, output, colour);
	}
	hk_table_free(table);
	return r;
}

static int open_calls_write(const struct hk_report *report, FILE *output, bool colour)
{
	struct hk_table *table =
	    hk_table_new(">rank|<role|>thread|<name|>depth|<open call:40|<library:64|>open for");

	for (size_t i = 0; i < report->open_call_count; i++) {
		const struct hk_report_open_call *open = &report->open_calls[i];
		rank_add(table, open->rank);
		hk_table_add(table, "%s", open->role);
		hk_table_add(table, "%" PRIu32, open->thread);
		hk_table_add(table, "%s", open->thread_name);
		hk_table_add(table, "%" PRIu32, open->depth);
		hk_table_add(table, "%s", open->function);
		hk_table_add(table, "%s", open->library);
		duration(table, true, open->open_ns);
	}
	int r = 0;
	if (report->open_call_count > 0) {
		fputc('\n', output);
		r = hk_table_write(table, output, colour);
	}
	hk_table_free(table);
	return r;
}

static int processes_write(const struct hk_report *report, FILE *output, bool colour)
{
	struct hk_table *table = hk_table_new(
	    ">rank|<role|>pid|<host|<command:48|<agent|<ended|>wall "
	    "s|>cost%|>records|>shed|>lost|>objects|>found|>patched|>refused|<note:160");

	for (size_t i = 0; i < report->process_count; i++) {
		const struct hk_report_process *p = &report->processes[i];
		int64_t wall_ns = p->end_ns - p->start_ns;
		rank_add(table, p->rank);
		hk_table_add(table, "%s", p->role);
		hk_table_add(table, "%" PRIu32, p->pid);
		hk_table_add(table, "%s", p->host);
		hk_table_add(table, "%s", p->command);
		hk_table_add(table, "%s", p->agent);
		if (p->exit.have_code) {
			hk_table_add(table, "%s %" PRId32, p->exit.kind, p->exit.code);
		} else {
			hk_table_add(table, "%s", p->exit.kind);
		}
		seconds(table, wall_ns >= 0, (uint64_t)wall_ns);
		double cost = 100 * (double)p->tracing_cost_ns;
		hk_table_add(table, "%.2f", wall_ns > 0 ? cost / (double)wall_ns : 0);
		hk_table_add(table, "%" PRIu64, p->records);
		hk_table_add(table, "%" PRIu64, p->shed_records);
		hk_table_add(table, "%" PRIu64, p->lost_records);
		hk_table_add(table, "%" PRIu32, p->objects);
		hk_table_add(table, "%" PRIu32, p->slots_found);
		hk_table_add(table, "%" PRIu32, p->slots_patched);
		hk_table_add(table, "%" PRIu32, p->slots_refused);
		hk_table_add(table, "%s%s%s", p->coverage, *p->coverage && *p->note ? "; " : "",
			     p->note);
	}
	fputc('\n', output);
	int r = hk_table_write(table, output, colour);
	hk_table_free(table);
	return r;
}

/* Writes the levels that the governor changed, and those that it may not change. */
static int steps_write(const struct hk_report *report, FILE *output, bool colour)
{
	struct hk_table *table = hk_table_new(">rank|<role|>at|<tracing cost:80|<level|<to");
	char at[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < report->step_count; i++) {
		const struct hk_report_step *step = &report->steps[i];
		rank_add(table, step->rank);
		hk_table_add(table, "%s", step->role);
		hk_table_add(table, "%s", hk_quantity_seconds(at, (double)step->time_ns));
		hk_table_add(table, "%s", step->pattern);
		hk_table_add(table, "%s", step->from);
		hk_table_add(table, "%s", step->pinned ? "(over budget)" : step->to);
	}
	int r = 0;
	if (report->step_count > 0) {
		fputc('\n', output);
		r = hk_table_write(table, output, colour);
	}
	hk_table_free(table);
	return r;
}

int hk_report_write_text(const struct hk_report *report, FILE *output, enum hk_report_by by,
			 const struct hk_report_style *style)
{
	char id[HK_NAME_BYTES(NAME_COLUMNS)], command[HK_NAME_BYTES(2 * NAME_COLUMNS)];
	char wall[HK_QUANTITY_BYTES];
	bool colour = style && style->colour;

	hk_name_print(id, NAME_COLUMNS, report->job.id);
	hk_name_print(command, 2 * NAME_COLUMNS, report->job.command);
	fprintf(output, "job %s: %s   %s, %zu/%" PRId32 " ranks, %s", id, command,
		hk_quantity_duration(wall, report->job.duration_ns), report->rank_count,
		report->job.world_size, report->job.closed ? "ended" : "running");
	hk_report_nodes_clocks(report, ", ", output);
	fputs("\n\n", output);
	int r = calls_write(report, output, by, colour);
	r = r ? r : hk_transfers_write(report, SIZE_MAX, colour, output);
	r = r ? r : memory_write(report, output, colour);
	r = r ? r : open_calls_write(report, output, colour);
	r = r ? r : steps_write(report, output, colour);
	r = r ? r : processes_write(report, output, colour);
	r = r ? r : hk_report_nodes_write(report, output, colour);
	hk_report_triggers_write(report, "\n", style ? style->files : NULL, output);
	if (report->job.calls_untracked > 0) {
		fprintf(output,
			"\n! %" PRIu64 " calls found no room in a segment and are in no row\n",
			report->job.calls_untracked);
	}
	if (report->job.store_full) {
		fprintf(output, "\n! the store is full: no records until there is room\n");
	}
	if (report->job.shed_records > 0) {
		fprintf(output,
			"\n! the oldest %" PRIu64 " of %" PRIu64
			" records were given up (--keep); counts and times above are exact\n",
			report->job.shed_records, report->job.records);
	}
	if (report->job.lost_records > 0) {
		fprintf(output,
			"\n! %" PRIu64 " records were lost%s%s; counts and times above are exact\n",
			report->job.lost_records, *report->job.store_error ? ", not stored: " : "",
			report->job.store_error);
	}
	return r == 0 && ferror(output) ? -EIO : r;
}
