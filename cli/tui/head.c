#include "cli/tui/head.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/findings/findings.h"
#include "report/write/nodes_write.h"
#include "text/name.h"
#include "text/quantity.h"

#define OPEN_AFTER_NS 5000000000u
#define OPEN_SHOWN 6u
#define NAME_COLUMNS 40

static double wall_ns(const struct hk_report *report)
{
	double wall = 0;

	for (size_t i = 0; i < report->rank_count; i++) {
		int64_t ns = report->ranks[i].end_ns - report->ranks[i].start_ns;
		wall += ns > 0 ? (double)ns : 0;
	}
	return wall;
}

static void write_ranks(const struct hk_report *report, FILE *output)
{
	fprintf(output, "%zu", report->rank_count);
	if (report->job.world_size > 0) {
		fprintf(output, "/%" PRId32, report->job.world_size);
	}
	fputs(report->rank_count == 1 && report->job.world_size <= 1 ? " rank" : " ranks", output);
	if (report->job.nodes > 1) {
		fprintf(output, " %zu nodes", report->job.nodes);
	}
}

static void write_clock(const struct hk_report_job *job, bool utf8, FILE *output)
{
	char error[HK_QUANTITY_BYTES];

	if (job->nodes >= 2 && job->clocks_known) {
		fprintf(output, "  clock %s%s", utf8 ? "\302\261" : "+-",
			hk_quantity_duration(error, job->clock_error_ns));
	} else if (job->nodes >= 2) {
		fputs("  clocks unknown", output);
	}
}

static void write_disk(const struct hk_top_snapshot *snapshot, const struct hk_track *track,
		       FILE *output)
{
	char bytes[HK_QUANTITY_BYTES], rate[HK_QUANTITY_BYTES];

	if (snapshot->stored_bytes == 0 && isnan(snapshot->disk_free)) {
		return; /* no value, or unknown */
	}
	fprintf(output, "  disk %s", hk_quantity_bytes(bytes, snapshot->stored_bytes));
	if (track && hk_top_snapshot_state(snapshot) == HK_TOP_SNAPSHOT_LIVE) {
		fprintf(output, " %s/s", hk_quantity_bytes(rate, (uint64_t)track->steady_per_s[1]));
	}
	if (!isnan(snapshot->disk_free)) {
		fprintf(output, " (free %.0f %%)", 100 * snapshot->disk_free);
	}
}

void hk_head_write(const struct hk_top_snapshot *snapshot, struct hk_history *history,
		   const char *state, bool utf8, FILE *output)
{
	const struct hk_report *report = snapshot->report;
	char id[HK_NAME_BYTES(NAME_COLUMNS)], rate[HK_QUANTITY_BYTES], up[HK_QUANTITY_BYTES];
	double wall = wall_ns(report);
	uint64_t counts[HK_TRACK_COUNTS] = {0, snapshot->stored_bytes};

	for (size_t i = 0; i < snapshot->calls.count; i++) {
		counts[0] += snapshot->calls.groups[i].numbers.calls;
	}
	hk_history_begin(history, snapshot->duration_ns,
			 hk_top_snapshot_state(snapshot) != HK_TOP_SNAPSHOT_LIVE);
	const struct hk_track *track = hk_history_count(history, "job", counts);
	hk_name_print(id, NAME_COLUMNS, report->job.id);
	fprintf(output, "hooktrace %s  ", id);
	write_ranks(report, output);
	fprintf(output, "  up %s  %s\n", hk_quantity_duration(up, snapshot->duration_ns), state);
	fprintf(output, "cost %.2f %%  calls %s/s  lost %" PRIu64,
		wall > 0 ? 100 * (double)report->job.tracing_cost_ns / wall : 0,
		hk_quantity_count(rate, track ? track->per_s[0] : 0), report->job.lost_records);
	write_disk(snapshot, track, output);
	write_clock(&report->job, utf8, output);
	fputc('\n', output);
}

/* Writes a line if ranks hang or one died, and for each kind of values in which ranks differ. */
static void findings_write(const struct hk_report *report, FILE *output)
{
	struct hk_findings findings;

	/* Without memory lines are missing, which the next refresh may have. */
	if (hk_findings_init_urgent(&findings, report) < 0) {
		return;
	}
	for (size_t i = 0; i < findings.count; i++) {
		if (findings.list[i].weight == HK_WEIGHT_FINDING) {
			fprintf(output, "! %s\n", findings.list[i].text);
		}
	}
	hk_findings_fini(&findings);
}

void hk_head_warn(const struct hk_top_snapshot *snapshot, FILE *output)
{
	const struct hk_report *report = snapshot->report;

	if (report->job.calls_untracked > 0) {
		fprintf(output, "! UNCOUNTED CALLS: %" PRIu64 ", see hookcli report\n",
			report->job.calls_untracked);
	}
	if (snapshot->older) {
		fputs(
		    "! the job's collector is older than this hookcli and cannot show this view\n",
		    output);
	}
	hk_report_nodes_warn(report, output);
	findings_write(report, output);
}

/* ---- below ---- */

static void open_calls_write(const struct hk_report *report, FILE *output)
{
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < report->open_call_count; i++) {
		const struct hk_report_open_call *open = &report->open_calls[i];
		char function[HK_NAME_BYTES(NAME_COLUMNS)], library[HK_NAME_BYTES(NAME_COLUMNS)];
		char thread[HK_NAME_BYTES(16)], age[HK_QUANTITY_BYTES];
		if (open->open_ns < OPEN_AFTER_NS || open->idle) {
			continue;
		}
		if (shown == OPEN_SHOWN) {
			more++;
			continue;
		}
		hk_name_print(function, NAME_COLUMNS, open->function);
		hk_name_print(library, NAME_COLUMNS, hk_name_base(open->library));
		hk_name_print(thread, 16, open->thread_name);
		fprintf(output, "%s  rank %" PRId32 " %s %s <- %s  %s\n",
			shown++ == 0 ? "OPEN > 5s" : "         ", open->rank,
			*thread ? thread : open->role, function, library,
			hk_quantity_duration(age, open->open_ns));
	}
	if (more > 0) {
		fprintf(output, "           (%zu more)\n", more);
	}
}

static void memory_write(const struct hk_report *report, FILE *output)
{
	const struct hk_report_memory *most = NULL;
	char live[HK_QUANTITY_BYTES], peak[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < report->memory_count; i++) {
		const struct hk_report_memory *memory = &report->memory[i];
		if (memory->device < 0 && strcmp(memory->library, "*") == 0 &&
		    strcmp(memory->kind, "heap") == 0 && strcmp(memory->role, "main") == 0 &&
		    (!most || memory->live_bytes > most->live_bytes)) {
			most = memory;
		}
	}
	if (most) {
		fprintf(output, "MEM  host heap max %s (peak %s) rank %" PRId32 "\n",
			hk_quantity_bytes(live, most->live_bytes),
			hk_quantity_bytes(peak, most->peak_bytes), most->rank);
	}
}

static bool has_lowered(const struct hk_report *report)
{
	for (size_t i = 0; i < report->step_count; i++) {
		if (!report->steps[i].pinned) {
			return true;
		}
	}
	return false;
}

void hk_foot_write(const struct hk_top_snapshot *snapshot, FILE *output)
{
	open_calls_write(snapshot->report, output);
	memory_write(snapshot->report, output);
	if (has_lowered(snapshot->report)) {
		fputs("* level lowered by the governor: hookcli report\n", output);
	}
}
