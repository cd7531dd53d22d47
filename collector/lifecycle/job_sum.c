#include "collector/lifecycle/job_sum.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "collector/agreement/compare.h"
#include "collector/job/disk_reserve.h"
#include "collector/job/root_clock.h"
#include "collector/lifecycle/job_match.h"
#include "collector/model/attachment.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/model/remote.h"
#include "collector/spool/spool.h"
#include "report/build/nodes.h"
#include "report/clock/job_clock.h"
#include "wire/statistics.h"

/* Returns the number of processes that have not ended, as far as is known. */
static uint32_t count_live(const struct hk_job *job)
{
	const struct hk_process *process;
	uint32_t live = 0;
	DL_FOREACH (job->processes, process) {
		live += (process->segment || process->remote) && !process->exited;
	}
	return live;
}

bool hk_job_lives_here(const struct hk_job *job)
{
	const struct hk_process *process;
	bool any = false;
	DL_FOREACH (job->processes, process) {
		any |= process->segment && !process->exited;
	}
	return any;
}

bool hk_job_all_ranks(const struct hk_job *job)
{
	const struct hk_process *process;
	int32_t ranks = 0, world_size = 1;
	DL_FOREACH (job->processes, process) {
		const Hk__Process *state = process->state;
		/* A rank whose process called exec counts once, as its last image. */
		ranks += state->role == HK__ROLE__ROLE_MAIN &&
			 state->exit_kind != HK__EXIT_KIND__EXIT_EXEC;
		world_size = state->world_size > world_size ? state->world_size : world_size;
	}
	return ranks >= world_size;
}

/* Returns the number of live processes, without those of silent nodes, which may have ended. */
static uint32_t live_for_sure(const struct hk_job *job)
{
	struct hk_report_node_memory memory = {0};
	const struct hk_process *process;
	uint32_t silent = 0;
	DL_FOREACH (job->processes, process) {
		silent += process->remote && !process->exited &&
			  hk_report_node_is_silent(job->state, process->state, &memory);
	}
	return count_live(job) - silent;
}

/* Returns when ANCHOR of a process of JOB was, ns since the Unix epoch on the job's clock, or 0 if
 * that is unknown: the realtime clocks of other nodes may show any time. */
static uint64_t anchor_unix_ns(const struct hk_job *job, const Hk__Process *process,
			       const Hk__Anchor *anchor, struct hk_report_map_memory *memory)
{
	uint64_t ns;
	if (anchor &&
	    hk_report_clock_unix_ns(job->state, process, anchor->monotonic_ns, memory, &ns)) {
		return ns;
	}
	return anchor && (process->node.len == 0 || job->by_realtime) ? anchor->realtime_ns : 0;
}

static void sum_exit(struct hk_job *job, const Hk__Process *main_state)
{
	Hk__Job *state = job->state;
	char text[32] = "running";
	if (!state->have_exit && main_state && !count_live(job)) {
		bool signaled = main_state->exit_kind == HK__EXIT_KIND__EXIT_SIGNAL ||
				main_state->exit_kind == HK__EXIT_KIND__EXIT_OOM;
		if (signaled || main_state->exit_kind == HK__EXIT_KIND__EXIT_EXITED) {
			snprintf(text, sizeof(text), "%s %d", signaled ? "signal" : "exit",
				 main_state->exit_code);
		} else {
			bool detached = main_state->exit_kind == HK__EXIT_KIND__EXIT_DETACHED;
			snprintf(text, sizeof(text), "%s", detached ? "detached" : "unknown");
		}
	} else if (state->have_exit) {
		bool signaled = state->exit_status > 128 && state->exit_status < 128 + 65;
		snprintf(text, sizeof(text), "%s %d", signaled ? "signal" : "exit",
			 signaled ? state->exit_status - 128 : state->exit_status);
	}
	if (strcmp(state->exit, text) != 0) {
		hk_field_set_string(&state->exit, text);
		job->changed = true;
	}
}

/* Compares what the ranks should agree on, if there is anything new. */
static void sum_agreements(struct hk_job *job)
{
	const struct hk_process *process;
	bool ended = job->state->processes_live == 0;
	uint64_t agreed = (uint64_t)job->state->world_size * 2 + ended;
	bool any = false;
	DL_FOREACH (job->processes, process) {
		agreed += process->state->n_sites;
		for (size_t i = 0; i < process->state->n_agreed; i++) {
			const Hk__Agreed *row = process->state->agreed[i];
			agreed += row->step * 31 + row->epoch * 17 + row->slot + 1;
			any = true;
		}
	}
	if (!any || agreed == job->agreed) {
		return;
	}
	Hk__Process **list = calloc(job->process_count + 1, sizeof(*list));
	size_t count = 0;
	DL_FOREACH (job->processes, process) {
		if (list && count < job->process_count) {
			list[count++] = process->state;
		}
	}
	/* Out of memory: the next sum tries again. */
	if (list && hk_agreement_compare(job->state, list, count, ended) >= 0) {
		job->agreed = agreed;
	}
	free(list);
}

void hk_job_sum(struct hk_job *job)
{
	Hk__Job *state = job->state;
	const struct hk_process *process;
	const Hk__Process *first_main = NULL;
	struct hk_report_map_memory memory = {0};
	uint64_t end = 0;
	int32_t world_size = 1;
	state->stored_bytes = job->statistics ? hk_statistics_file_bytes(job->statistics) : 0;
	state->store_full = job->intake_full || hk_reserve_is_full(job->full_error);
	state->tracing_cost_ns = 0;
	DL_FOREACH (job->processes, process) {
		const Hk__Process *part = process->state;
		uint64_t part_end =
		    anchor_unix_ns(job, part, part->end ? part->end : part->seen, &memory);
		uint64_t part_start = anchor_unix_ns(job, part, part->start, &memory);
		end = part_end > end ? part_end : end;
		world_size = part->world_size > world_size ? part->world_size : world_size;
		state->tracing_cost_ns += part->tracing_cost_ns;
		state->stored_bytes +=
		    process->segment ? hk_spool_held(process->segment->spool) : process->held_bytes;
		if (part_start > 0 && part_start < state->start_unix_ns) {
			state->start_unix_ns = part_start;
			job->changed = true;
		}
		if (part->role == HK__ROLE__ROLE_MAIN &&
		    (!first_main || part->rank <= first_main->rank)) {
			first_main = part;
		}
	}
	if (world_size != state->world_size) {
		state->world_size = world_size;
		job->changed = true;
	}
	if (first_main && !*state->command) {
		hk_field_set_string(&state->command, first_main->command);
		job->changed = true;
	}
	state->processes_live = live_for_sure(job);
	if (state->processes_live > 0 || end == 0) {
		end = hk_root_clock_unix_ns(state);
	}
	state->duration_ns = end > state->start_unix_ns ? end - state->start_unix_ns : 0;
	sum_exit(job, first_main);
	sum_agreements(job);
	hk_job_match_all(job);
}

int hk_job_snapshot(struct hk_job *job, Hk__Snapshot *ret_snapshot)
{
	struct hk_process *process;
	Hk__Process **list = calloc(job->process_count + 1, sizeof(struct hk_process *));
	if (!list) {
		return -ENOMEM;
	}
	hk_job_sum(job);
	hk__snapshot__init(ret_snapshot);
	ret_snapshot->job = job->state;
	ret_snapshot->now_unix_ns = hk_root_clock_unix_ns(job->state);
	ret_snapshot->processes = list;
	DL_FOREACH (job->processes, process) {
		list[ret_snapshot->n_processes++] = process->state;
	}
	return 0;
}
