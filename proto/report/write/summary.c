/* Writes the summary at the end of a job, one screen, from statistics alone. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/build/group.h"
#include "report/finding/finding.h"
#include "report/finding/share.h"
#include "report/findings/findings.h"
#include "report/findings/spread.h"
#include "report/model/domains.h"
#include "report/model/report.h"
#include "report/trigger/triggers.h"
#include "report/write/coverage_write.h"
#include "report/write/devices_write.h"
#include "report/write/nodes_write.h"
#include "report/write/runtimes_write.h"
#include "report/write/transfers_write.h"
#include "report/write/write.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/table.h"

#define RANKS_SHOWN 16u
#define CALLS_SHOWN 12u
#define OPEN_SHOWN 8u
#define TRANSFERS_SHOWN 6u
#define DEVICE_ROWS_SHOWN 6u
#define COMMAND_COLUMNS 48
#define NAME_COLUMNS 48
#define ID_COLUMNS 40
#define FILES_COLUMNS 240

/* State that the tables of calls and of ranks share. */
struct summary {
	const struct hk_report *report;
	FILE *output;
	const struct hk_report_style *style;
	struct hk_rank_figures *figures; /* one per rank */
	bool has_mpi, has_heap, has_device;
	bool has_device_time; /* calls have a column for the time of what they submitted */
	uint64_t mpi_ns;      /* sum over all ranks */
};

static void bold(const struct summary *summary, const char *text)
{
	bool colour = summary->style->colour;

	fprintf(summary->output, "%s%s%s", colour ? "\033[1m" : "", text, colour ? "\033[0m" : "");
}

static size_t host_count(const struct hk_report *report)
{
	size_t count = 0;

	/* Texts are shared: equal hosts have equal addresses. */
	for (size_t i = 0; i < report->rank_count; i++) {
		size_t before = 0;
		while (before < i && report->ranks[before].host != report->ranks[i].host) {
			before++;
		}
		count += before == i;
	}
	return count;
}

static void title_write(const struct summary *summary)
{
	const struct hk_report_job *job = &summary->report->job;
	char command[HK_NAME_BYTES(COMMAND_COLUMNS)], id[HK_NAME_BYTES(ID_COLUMNS)];
	char exit[HK_NAME_BYTES(ID_COLUMNS)], line[1024];
	size_t hosts = host_count(summary->report);
	size_t nodes = job->nodes > hosts ? job->nodes : hosts;

	hk_name_print(command, COMMAND_COLUMNS, job->command);
	hk_name_print(id, ID_COLUMNS, job->id);
	hk_name_print(exit, ID_COLUMNS, *job->exit ? job->exit : "running");
	snprintf(line, sizeof(line),
		 "== hooktrace: %s == job %s == %zu/%" PRId32 " ranks, %zu node%s == %s", command,
		 id, summary->report->rank_count, job->world_size, nodes, nodes == 1 ? "" : "s",
		 exit);
	bold(summary, line);
	fputc('\n', summary->output);
}

static void totals_write(const struct summary *summary)
{
	const struct hk_report *report = summary->report;
	char text[HK_QUANTITY_BYTES];
	double all_wall = 0;
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < report->rank_count; i++) {
		all_wall += summary->figures[i].value[HK_FIGURE_WALL];
		first = report->ranks[i].start_ns < first ? report->ranks[i].start_ns : first;
		last = report->ranks[i].end_ns > last ? report->ranks[i].end_ns : last;
	}
	double wall = report->rank_count > 0 ? (double)(last - first) : 0;
	fprintf(summary->output, "wall %s s", hk_quantity_seconds(text, wall));
	struct hk_domain shares[HK_DOMAINS_MAX];
	size_t share_count = hk_domain_shares(shares);
	bool summed = false;
	for (size_t i = 0; i < share_count; i++) {
		double share = hk_domain_share_of(report, shares[i].name);
		summed |= share > 1;
		if (share > 0) {
			fprintf(summary->output, "   %s %.1f %%", shares[i].title, 100 * share);
		}
	}
	fputs(summed ? " (threads and processes summed)" : "", summary->output);
	fprintf(summary->output, "   est. tracing cost %.2f %%   lost %" PRIu64,
		all_wall > 0 ? 100 * (double)report->job.tracing_cost_ns / all_wall : 0,
		report->job.lost_records);
	hk_report_nodes_clocks(report, "   ", summary->output);
	fputc('\n', summary->output);
}

static void findings_list(const struct hk_findings *findings, FILE *output)
{
	for (size_t i = 0; i < findings->count; i++) {
		if (findings->list[i].weight != HK_WEIGHT_FACT) {
			fprintf(output, "! %s\n", findings->list[i].text);
		}
	}
}

/* Writes warnings and findings, without plain facts. */
static int findings_write(const struct summary *summary)
{
	struct hk_findings findings;

	if (summary->style->findings) {
		findings_list(summary->style->findings, summary->output);
		return 0;
	}
	int r = hk_findings_init(&findings, summary->report);
	if (r == 0) {
		findings_list(&findings, summary->output);
		hk_findings_fini(&findings);
	}
	return r;
}

static void figure_add(struct hk_table *table, enum hk_figure figure, double value)
{
	char text[HK_QUANTITY_BYTES];

	hk_table_add(table, "%s", hk_figure_text(text, figure, value));
}

static bool figure_shown(const struct summary *summary, enum hk_figure figure)
{
	switch (figure) {
	case HK_FIGURE_MPI:
	case HK_FIGURE_MPI_SHARE:
	case HK_FIGURE_SENT:
		return summary->has_mpi;
	case HK_FIGURE_DEVICE:
		return summary->has_device;
	default:
		return true;
	}
}

static void exit_add(struct hk_table *table, const struct hk_report_exit *exit)
{
	if (!exit->have_code) {
		hk_table_add(table, "%s", exit->kind);
	} else if (strcmp(exit->kind, "exited") == 0) {
		hk_table_add(table, "%" PRId32, exit->code);
	} else {
		hk_table_add(table, "%s %" PRId32, exit->kind, exit->code);
	}
}

static int ranks_one_by_one(const struct summary *summary)
{
	const struct hk_report *report = summary->report;
	char heads[256];
	struct hk_table *table;

	snprintf(heads, sizeof(heads), ">rank|<host:24|>wall s%s|>heap peak%s|>RSS|>exit",
		 summary->has_mpi ? "|>MPI s|>MPI%|>sent" : "",
		 summary->has_device ? "|>device peak" : "");
	table = hk_table_new(heads);
	for (size_t i = 0; i <= report->rank_count; i++) {
		bool mean = i == report->rank_count;
		if (mean && report->rank_count < 2) {
			break;
		}
		if (mean) {
			hk_table_add(table, "mean");
			hk_table_add(table, "%s", "");
		} else {
			hk_table_add(table, "%" PRId32, report->ranks[i].rank);
			hk_table_add(table, "%s", report->ranks[i].host);
		}
		for (enum hk_figure figure = 0; figure < HK_FIGURES; figure++) {
			if (figure_shown(summary, figure)) {
				figure_add(table, figure,
					   mean ? hk_figure_mean(summary->figures,
								 report->rank_count, figure)
						: summary->figures[i].value[figure]);
			}
		}
		if (mean) {
			hk_table_add(table, "%s", "");
		} else {
			exit_add(table, &report->ranks[i].exit);
		}
	}
	int r = 0;
	if (report->rank_count > 0) {
		r = hk_table_write(table, summary->output, summary->style->colour);
	}
	hk_table_free(table);
	return r;
}

static int ranks_spread(const struct summary *summary)
{
	const struct hk_report *report = summary->report;
	struct hk_table *table =
	    hk_table_new("<all ranks|>median|>max|>@rank|>min|>@rank|<outliers:60");
	struct hk_spread spread;
	int r = 0;

	for (enum hk_figure figure = 0; r == 0 && figure < HK_FIGURES; figure++) {
		if (!figure_shown(summary, figure)) {
			continue;
		}
		r = hk_spread_of(summary->figures, report->rank_count, figure, &spread);
		hk_table_add(table, "%s", hk_figure_title(figure));
		if (r == 0) {
			figure_add(table, figure, spread.median);
			figure_add(table, figure, spread.max);
			hk_table_add(table, "%" PRId32, spread.max_rank);
			figure_add(table, figure, spread.min);
			hk_table_add(table, "%" PRId32, spread.min_rank);
			hk_table_add(table, "%s", spread.outliers);
		}
	}
	r = r ? r : hk_table_write(table, summary->output, summary->style->colour);
	hk_table_free(table);
	size_t shown = 0;
	for (size_t i = 0; r == 0 && i < report->rank_count && shown < OPEN_SHOWN; i++) {
		const struct hk_report_exit *exit = &report->ranks[i].exit;
		bool well =
		    strcmp(exit->kind, "exited") == 0 || strcmp(exit->kind, "detached") == 0;
		if (!well || exit->code != 0) {
			fprintf(summary->output, "%srank %" PRId32 " %s %" PRId32,
				shown++ > 0 ? ", " : "", report->ranks[i].rank, exit->kind,
				exit->code);
		}
	}
	fputs(shown > 0 ? "\n" : "", summary->output);
	return r;
}

static void call_add(const struct summary *summary, struct hk_table *table,
		     const struct hk_group *group, const char *library)
{
	const struct hk_report_numbers *n = &group->numbers;
	char text[HK_QUANTITY_BYTES], name[HK_NAME_BYTES(NAME_COLUMNS)];

	hk_name_print_function(name, NAME_COLUMNS, group->function);
	hk_table_add(table, "%s", name);
	hk_table_add(table, "%s", library);
	hk_table_add(table, "%" PRIu64, n->calls);
	if (n->have_total) {
		hk_table_add(table, "%s%s", n->estimated ? "~" : "",
			     hk_quantity_seconds(text, (double)n->total_ns));
	} else {
		hk_table_add(table, "-");
	}
	if (summary->has_mpi) {
		if (strcmp(group->domain, "mpi") == 0 && summary->mpi_ns > 0) {
			hk_table_add(table, "%.1f",
				     100 * (double)n->total_ns / (double)summary->mpi_ns);
		} else {
			hk_table_add(table, "%s", "");
		}
	}
	hk_table_add(table, "%s", n->have_latency ? hk_quantity_duration(text, n->p50_ns) : "-");
	hk_table_add(table, "%s", n->have_latency ? hk_quantity_duration(text, n->p99_ns) : "-");
	if (n->have_latency) {
		hk_table_add(table, "%s@%" PRId32, hk_quantity_duration(text, n->max_ns),
			     group->max_rank);
	} else {
		hk_table_add(table, "-");
	}
	if (group->imbalance > 0) {
		hk_table_add(table, "%.2f", group->imbalance);
	} else {
		hk_table_add(table, "-");
	}
	if (summary->has_device_time) {
		hk_table_add(table, "%s",
			     n->have_device ? hk_quantity_seconds(text, (double)n->device_ns)
					    : "-");
	}
}

/* Calls without a row of their own. */
struct unseen {
	size_t functions;
	uint64_t ns, idle_ns, idle_calls, launcher_calls;
};

static void unseen_write(const struct summary *summary, const struct unseen *unseen)
{
	char text[HK_QUANTITY_BYTES];

	if (unseen->functions > 0) {
		fprintf(summary->output, "(%zu more: %s s)\n", unseen->functions,
			hk_quantity_seconds(text, (double)unseen->ns));
	}
	if (unseen->idle_calls > 0) {
		fprintf(summary->output,
			"(waits for events and threads: %" PRIu64 " calls, %s s)\n",
			unseen->idle_calls, hk_quantity_seconds(text, (double)unseen->idle_ns));
	}
	if (unseen->launcher_calls > 0) {
		fprintf(summary->output,
			"(launchers made %" PRIu64 " more: hookcli report --by process)\n",
			unseen->launcher_calls);
	}
}

static int calls_write(const struct summary *summary)
{
	unsigned limit = summary->style->rows ? summary->style->rows : CALLS_SHOWN;
	char heads[256];
	struct hk_groups groups;
	struct unseen unseen = {0};
	int r = hk_groups_init(&groups, summary->report,
			       HK_GROUP_FUNCTION | HK_GROUP_LIBRARY | HK_GROUP_TOGETHER);

	if (r < 0) {
		return r;
	}
	snprintf(heads, sizeof(heads),
		 "<call:32|<library:24|>calls|>time s%s|>p50|>p99|>max@rank|>imb%s",
		 summary->has_mpi ? "|>%MPI" : "", summary->has_device_time ? "|>device s" : "");
	struct hk_table *table = hk_table_new(heads);
	unsigned shown = 0;
	for (size_t i = 0; i < groups.count; i++) {
		const struct hk_group *group = &groups.groups[i];
		if (strcmp(group->role, "main") != 0) {
			unseen.launcher_calls += group->numbers.calls;
		} else if (hk_domain_is_idle(group->domain)) {
			unseen.idle_calls += group->numbers.calls;
			unseen.idle_ns += group->numbers.total_ns;
		} else if (hk_devices_are(group)) {
			continue; /* in a table of their own */
		} else if (shown < limit) {
			call_add(summary, table, group, hk_group_library(&groups, i));
			shown++;
		} else {
			unseen.functions++;
			unseen.ns += group->numbers.total_ns;
		}
	}
	fputc('\n', summary->output);
	if (shown > 0) {
		r = hk_table_write(table, summary->output, summary->style->colour);
	} else if (unseen.idle_calls == 0) {
		hk_coverage_write_empty(summary->report, summary->output);
	}
	unseen_write(summary, &unseen);
	hk_table_free(table);
	r = r ? r
	      : hk_devices_write(&groups, DEVICE_ROWS_SHOWN, summary->style->colour,
				 summary->output);
	hk_groups_fini(&groups);
	return r;
}

/* Writes the open calls of processes that still run or did not end by themselves. */
static void open_calls_write(const struct summary *summary)
{
	const struct hk_report *report = summary->report;
	size_t shown = 0;

	for (size_t i = 0; i < report->open_call_count; i++) {
		const struct hk_report_open_call *open = &report->open_calls[i];
		char function[HK_NAME_BYTES(40)], library[HK_NAME_BYTES(40)];
		char age[HK_QUANTITY_BYTES];
		if (strcmp(open->role, "main") != 0 || open->idle) {
			continue;
		}
		if (shown++ == OPEN_SHOWN) {
			fputs("      ...\n", summary->output);
			break;
		}
		hk_name_print(function, 40, open->function);
		hk_name_print(library, 40, hk_name_base(open->library));
		fprintf(summary->output, "%s rank %" PRId32 " thread %" PRIu32 " %s <- %s for %s\n",
			shown == 1 ? "\nopen:" : "     ", open->rank, open->thread, function,
			library, hk_quantity_duration(age, open->open_ns));
	}
}

static void foot_write(const struct summary *summary)
{
	const struct hk_report *report = summary->report;
	uint64_t objects = 0, patched = 0, refused = 0;
	char files[HK_NAME_BYTES(FILES_COLUMNS)];

	for (size_t i = 0; i < report->process_count; i++) {
		objects += report->processes[i].objects;
		patched += report->processes[i].slots_patched;
		refused += report->processes[i].slots_refused;
	}
	fprintf(summary->output,
		"\nseen: %" PRIu64 " objects, %" PRIu64 " slots patched, %" PRIu64
		" refused     hookcli doctor\n",
		objects, patched, refused);
	if (!summary->has_heap) {
		fputs("host heap not traced (--hooks libc)\n", summary->output);
	}
	hk_runtimes_write(report, summary->output);
	const char *shown =
	    summary->style->files ? summary->style->files : summary->report->job.directory;
	hk_name_print_end(files, FILES_COLUMNS, shown);
	fprintf(summary->output,
		"files: %s   next: hookcli why | report --format text | export --format perfetto\n",
		files);
}

int hk_report_write_summary(const struct hk_report *report, FILE *output,
			    const struct hk_report_style *style)
{
	static const struct hk_report_style plain;
	struct summary summary = {.report = report, .output = output};
	int r;

	summary.style = style ? style : &plain;
	summary.figures = hk_figures_new(report);
	if (!summary.figures) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < report->call_count; i++) {
		summary.has_mpi |= strcmp(report->calls[i].domain, "mpi") == 0;
		summary.has_device_time |= report->calls[i].numbers.have_device;
	}
	for (size_t i = 0; i < report->rank_count; i++) {
		summary.mpi_ns += (uint64_t)summary.figures[i].value[HK_FIGURE_MPI];
	}
	/* Helpers count too: this says what was traced, not what ranks used. */
	for (size_t i = 0; i < report->memory_count; i++) {
		summary.has_heap |= strcmp(report->memory[i].kind, "heap") == 0;
		summary.has_device |= strcmp(report->memory[i].kind, "device") == 0;
	}
	title_write(&summary);
	totals_write(&summary);
	r = findings_write(&summary);
	hk_report_triggers_write(report, "", summary.style->files, output);
	fputc('\n', output);
	r = r				       ? r
	    : report->rank_count > RANKS_SHOWN ? ranks_spread(&summary)
					       : ranks_one_by_one(&summary);
	r = r ? r : calls_write(&summary);
	r = r ? r : hk_transfers_write(report, TRANSFERS_SHOWN, summary.style->colour, output);
	open_calls_write(&summary);
	foot_write(&summary);
	free(summary.figures);
	return r == 0 && ferror(output) ? -EIO : r;
}
