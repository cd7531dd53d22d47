#include "report/build/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/build/coverage.h"
#include "report/build/nodes.h"
#include "report/build/process_calls.h"
#include "report/model/role.h"

/* Least run time for a drift of its own; below it the map's drift is more exact. */
#define DRIFT_SPAN_NS 1000000000

/* SILENT: the node of PROCESS is silent. */
static struct hk_report_exit exit_of(const Hk__Process *process, bool silent)
{
	switch (process->exit_kind) {
	case HK__EXIT_KIND__EXIT_RUNNING:
		return (struct hk_report_exit){.kind = silent ? "silent" : "running"};
	case HK__EXIT_KIND__EXIT_EXITED:
		return (struct hk_report_exit){"exited", true, process->exit_code};
	case HK__EXIT_KIND__EXIT_EXEC:
		return (struct hk_report_exit){.kind = "exec"};
	case HK__EXIT_KIND__EXIT_SIGNAL:
		return (struct hk_report_exit){"signal", true, process->exit_code};
	case HK__EXIT_KIND__EXIT_DETACHED:
		return (struct hk_report_exit){.kind = "detached"};
	case HK__EXIT_KIND__EXIT_OOM:
		return (struct hk_report_exit){.kind = "oom"};
	default:
		return (struct hk_report_exit){.kind = "vanished"};
	}
}

static const char *agent_of(const Hk__Process *process)
{
	switch (process->agent) {
	case HK__AGENT_STATE__AGENT_ON:
		return "on";
	case HK__AGENT_STATE__AGENT_OFF:
		return "off";
	default:
		return "incompatible";
	}
}

/* Returns the offset, drift and errors of the clock of PROCESS's node, from the start of PROCESS to
 * LAST_TICKS. */
static struct hk_report_node_clock node_clock(const struct hk_report_clock *clock,
					      const Hk__Process *process, uint64_t last_ticks)
{
	struct hk_report_node_clock shown = {0};
	struct hk_report_error error;

	shown.known =
	    process->start && hk_report_clock_error(clock, clock->ticks, last_ticks, &error);
	if (!shown.known || !clock->map) {
		return shown;
	}
	int64_t begin_ns = clock->node_ns;
	int64_t ran_ns = hk_report_clock_node_ns(clock, last_ticks) - begin_ns;
	int64_t root_ns = hk_report_map_root_ns(clock->map, begin_ns);
	int64_t root_ran_ns = hk_report_map_root_ns(clock->map, begin_ns + ran_ns) - root_ns;
	shown.offset_ns = root_ns - begin_ns;
	shown.drift_ppb = clock->map->drift_ppb;
	if (ran_ns >= DRIFT_SPAN_NS) {
		shown.drift_ppb = (int64_t)((__int128)(root_ran_ns - ran_ns) * 1000000000 / ran_ns);
	}
	shown.error_ns = error.bound_ns;
	shown.fit_error_ns = error.fit_ns;
	return shown;
}

/* Returns the command of PROCESS as the user typed it: for a launcher, without the "-x VARIABLE"
 * arguments that `hookcli run` added. Returns NULL if out of memory. */
static const char *command_of(struct hk_report *report, const Hk__Process *process)
{
	static const char *const own[] = {"LD_PRELOAD ", "HOOK_", "ASAN_OPTIONS ",
					  "NVTX_INJECTION64_PATH ", "NCCL_PROFILER_PLUGIN "};
	const char *rest = process->command + strcspn(process->command, " ");
	char *command;

	for (bool more = process->role == HK__ROLE__ROLE_LAUNCHER; more;) {
		more = false;
		for (size_t i = 0;
		     strncmp(rest, " -x ", 4) == 0 && i < sizeof(own) / sizeof(own[0]); i++) {
			size_t length = 4 + strcspn(rest + 4, " =");
			if (strncmp(rest + 4, own[i], strlen(own[i])) == 0 && rest[length] == ' ') {
				rest += length;
				more = true;
				break;
			}
		}
	}
	if (asprintf(&command, "%.*s%s", (int)strcspn(process->command, " "), process->command,
		     rest) < 0) {
		return NULL;
	}
	const char *kept = hk_report_strings_get(&report->strings, command);
	free(command);
	return kept;
}

static int calls_fill(struct hk_report *report, const Hk__Process *process,
		      struct hk_report_process *row)
{
	Hk__ProcessCalls calls = HK__PROCESS_CALLS__INIT;
	int r = 0;

	if (process->calls) {
		calls = *process->calls;
	} else if (!report->folded) {
		r = hk_process_calls_sum(process, &calls);
	}
	row->calls = calls.calls;
	row->errors = calls.errors;
	row->inside_ns = calls.self_ns;
	row->have_inside = calls.have_time;
	row->most = hk_report_strings_get(&report->strings, calls.most);
	return r == 0 && !row->most ? -ENOMEM : r;
}

static int row_fill(struct hk_report *report, const Hk__Process *process,
		    const struct hk_report_clock *clock, bool silent, struct hk_report_process *row)
{
	const Hk__Anchor *last = process->end ? process->end : process->seen;

	row->rank = hk_report_rank_of(process);
	row->pid = process->pid;
	row->role = hk_report_role_of(process);
	row->exit = exit_of(process, silent);
	row->agent = agent_of(process);
	row->running = process->exit_kind == HK__EXIT_KIND__EXIT_RUNNING;
	row->start_ns = clock->since_ns;
	row->end_ns = last ? hk_report_clock_ns(clock, last->ticks) : row->start_ns;
	row->clock = node_clock(clock, process, last ? last->ticks : clock->ticks);
	if (process->quiet_ticks > 0 && process->role == HK__ROLE__ROLE_MAIN) {
		int64_t quiet_ns = row->end_ns - hk_report_clock_ns(clock, process->quiet_ticks);
		row->quiet_ns = quiet_ns > 0 ? (uint64_t)quiet_ns : 0;
	}
	row->calls_untracked = process->calls_untracked;
	row->calls_untimed = process->calls_untimed;
	row->records = hk_report_records_of(process);
	row->lost_records = process->lost_records;
	row->shed_records = process->records_shed;
	row->tracing_cost_ns = process->tracing_cost_ns;
	row->command = command_of(report, process);
	row->host = hk_report_strings_get(&report->strings, process->host);
	row->note = hk_report_strings_get(&report->strings, process->note);
	row->hooks = hk_report_strings_get(&report->strings, process->hooks);
	if (!row->command || !row->host || !row->note || !row->hooks) {
		return -ENOMEM;
	}
	int r = calls_fill(report, process, row);
	return r < 0 ? r : hk_coverage_fill(report, process, row);
}

static int by_rank_and_start(const void *a, const void *b)
{
	const struct hk_report_process *x = a, *y = b;

	if (x->rank != y->rank) {
		return x->rank < y->rank ? -1 : 1;
	}
	if (x->start_ns != y->start_ns) {
		return x->start_ns < y->start_ns ? -1 : 1;
	}
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Adds main process ROW to RANK. The main processes of a rank follow each other: the rank has the
 * first start and the last end. */
static void rank_extend(struct hk_report_rank *rank, const struct hk_report_process *row,
			bool first)
{
	if (first) {
		rank->start_ns = row->start_ns;
	}
	if (first || row->end_ns > rank->end_ns) {
		rank->end_ns = row->end_ns;
	}
	rank->quiet_ns = row->quiet_ns; /* one that another program replaced says nothing now */
	rank->rank = row->rank;
	rank->host = row->host;
	rank->pid = row->pid;
	rank->exit = row->exit;
	rank->running = row->running;
	/* The largest error of all its processes. */
	uint64_t worst = first || rank->clock.error_ns < row->clock.error_ns ? row->clock.error_ns
									     : rank->clock.error_ns;
	bool known = row->clock.known && (first || rank->clock.known);
	rank->clock = row->clock;
	rank->clock.error_ns = worst;
	rank->clock.known = known;
}

static struct hk_report_rank *rank_find(struct hk_report *report, int32_t rank)
{
	size_t low = 0, high = report->rank_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (report->ranks[middle].rank < rank) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < report->rank_count && report->ranks[low].rank == rank ? &report->ranks[low]
									   : NULL;
}

static void ranks_fill(struct hk_report *report, const Hk__Snapshot *snapshot)
{
	for (size_t i = 0; i < report->process_count; i++) {
		const struct hk_report_process *row = &report->processes[i];
		struct hk_report_rank *last =
		    report->rank_count ? &report->ranks[report->rank_count - 1] : NULL;
		if (strcmp(row->role, "main") != 0) {
			continue;
		}
		bool first = !last || last->rank != row->rank;
		rank_extend(first ? &report->ranks[report->rank_count++] : last, row, first);
	}
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		struct hk_report_rank *rank = rank_find(report, hk_report_rank_of(process));
		if (!rank || process->role == HK__ROLE__ROLE_LAUNCHER) {
			continue;
		}
		rank->records += hk_report_records_of(process);
		rank->lost_records += process->lost_records;
		rank->shed_records += process->records_shed;
		rank->tracing_cost_ns += process->tracing_cost_ns;
		if (process->role == HK__ROLE__ROLE_HELPER) {
			continue;
		}
		rank->cpu_ns += process->cpu_ns;
		rank->memory_limit_bytes = process->memory_limit_bytes;
		if (process->rss_peak_bytes > rank->rss_peak_bytes) {
			rank->rss_peak_bytes = process->rss_peak_bytes;
		}
	}
}

int hk_report_process_fill(struct hk_report *report, const Hk__Snapshot *snapshot,
			   const struct hk_report_clock *clocks)
{
	size_t count = snapshot->n_processes;
	struct hk_report_node_memory memory = {0};

	report->processes = calloc(count + 1, sizeof(*report->processes));
	report->ranks = calloc(count + 1, sizeof(*report->ranks));
	if (!report->processes || !report->ranks) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		const Hk__Process *process = snapshot->processes[i];
		bool silent = hk_report_node_is_silent(snapshot->job, process, &memory);
		int r = row_fill(report, process, &clocks[i], silent, &report->processes[i]);
		if (r < 0) {
			return r;
		}
	}
	report->process_count = count;
	qsort(report->processes, count, sizeof(*report->processes), by_rank_and_start);
	ranks_fill(report, snapshot);
	return 0;
}
