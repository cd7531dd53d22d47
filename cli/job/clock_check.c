#include "cli/job/clock_check.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "chunk/merge/merge.h"
#include "chunk/read/cursor.h"
#include "cli/flow/sync.h"
#include "hooks/hook.h"
#include "report/clock/job_clock.h"
#include "timeline/source.h"

/* A process with `sync=all` calls. */
struct input {
	const struct hk_report_clock *clock;
	uint64_t tick_ns_q32; /* conversion of its durations */
	uint64_t bound_ns;
	uint32_t process, node; /* node 0: the root's own; else its index among the job's */
	int fd;
	struct hk_cursor *cursor;
};

struct check {
	Hk__Snapshot *snapshot;
	struct hk_report_clock *clocks;
	struct hk_loader *loader;
	struct input *inputs;
	size_t count;
	struct hk_sync *sync;
	struct hk_sync_options options;
};

static bool makes_sync_calls(const Hk__Process *process)
{
	for (size_t i = 0; i < process->n_sites; i++) {
		if (process->sites[i]->flags & HK_HOOK_SYNC_ALL) {
			return process->records > 0;
		}
	}
	return false;
}

static uint32_t node_of(const Hk__Job *job, const Hk__Process *process)
{
	const Hk__Node *node = hk_report_clock_node(job, process);
	for (size_t i = 0; node && i < job->n_nodes; i++) {
		if (job->nodes[i] == node) {
			return (uint32_t)i + 1;
		}
	}
	return 0;
}

/* Returns whether there are clocks to check, and at most LIMIT records to read. */
static bool is_worth(const Hk__Snapshot *snapshot, uint64_t limit)
{
	uint64_t records = 0;
	uint32_t first = 0;
	bool any = false, several = false;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		if (!makes_sync_calls(process)) {
			continue;
		}
		uint32_t node = node_of(snapshot->job, process);
		several |= any && node != first;
		first = any ? first : node;
		any = true;
		if (process->records > limit - records) {
			return false;
		}
		records += process->records;
	}
	return several;
}

static int add_input(struct check *check, const char *directory, size_t index)
{
	const Hk__Process *process = check->snapshot->processes[index];
	const struct hk_report_clock *clock = &check->clocks[index];
	const Hk__Anchor *last = process->end ? process->end : process->seen;
	uint64_t last_ticks = last ? last->ticks : clock->ticks;
	struct input *input = &check->inputs[check->count];
	struct hk_report_error error;

	if (!process->start || !hk_report_clock_error(clock, clock->ticks, last_ticks, &error)) {
		return 0;
	}
	int fd = hk_source_open(check->snapshot->job, directory, process);
	int r = fd < 0 ? fd : hk_cursor_new(check->loader, fd, &input->cursor);
	if (r < 0) {
		if (fd >= 0) {
			close(fd);
		}
		return r == -ENOMEM || r == -EMFILE || r == -ENFILE ? r : 0;
	}
	int64_t from_ns = clock->since_ns, to_ns = hk_report_clock_ns(clock, last_ticks);
	struct hk_sync_options *options = &check->options;
	options->from_ns =
	    check->count == 0 || from_ns < options->from_ns ? from_ns : options->from_ns;
	options->to_ns = check->count == 0 || to_ns > options->to_ns ? to_ns : options->to_ns;
	input->clock = clock;
	input->tick_ns_q32 = process->tick_ns_q32 ? process->tick_ns_q32 : UINT64_C(1) << 32;
	input->bound_ns = error.bound_ns;
	input->process = (uint32_t)index;
	input->node = node_of(check->snapshot->job, process);
	input->fd = fd;
	check->count++;
	return 0;
}

static int open_inputs(struct check *check, const char *directory)
{
	const Hk__Snapshot *snapshot = check->snapshot;

	hk_source_raise_file_limit();
	check->inputs = calloc(snapshot->n_processes + 1, sizeof(*check->inputs));
	check->loader = hk_loader_new();
	int r = check->inputs && check->loader ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < snapshot->n_processes; i++) {
		r = makes_sync_calls(snapshot->processes[i]) ? add_input(check, directory, i) : 0;
	}
	return r;
}

/* Returns the node with the smallest clock error. Sets *ret_bound_ns to that error. */
static uint32_t best_node(const struct check *check, uint64_t *ret_bound_ns)
{
	uint32_t best = 0;

	*ret_bound_ns = UINT64_MAX;
	for (size_t i = 0; i < check->count; i++) {
		if (check->inputs[i].bound_ns < *ret_bound_ns) {
			*ret_bound_ns = check->inputs[i].bound_ns;
			best = check->inputs[i].node;
		}
	}
	for (size_t i = 0; i < check->count; i++) {
		const struct input *input = &check->inputs[i];
		if (input->node == best && input->bound_ns > *ret_bound_ns) {
			*ret_bound_ns = input->bound_ns;
		}
	}
	return best;
}

/* ---- the calls ---- */

static int64_t convert(const void *context, uint64_t ticks)
{
	return hk_report_clock_ns(context, ticks);
}

static int merge_new(const struct check *check, struct hk_merge **ret_merge)
{
	struct hk_merge_input *inputs = calloc(check->count + 1, sizeof(*inputs));

	if (!inputs) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < check->count; i++) {
		inputs[i].batch = hk_merge_cursor_batch;
		inputs[i].context = check->inputs[i].cursor;
		inputs[i].clock.convert = convert;
		inputs[i].clock.context = check->inputs[i].clock;
	}
	int r = hk_merge_new(inputs, check->count, ret_merge);
	free(inputs);
	return r;
}

static uint64_t word_of(const struct hk_record *record, const struct hk_chunk_site *site,
			uint8_t key, uint64_t otherwise)
{
	for (size_t i = 0; i < site->key_count && i < record->word_count; i++) {
		if (site->keys[i] == key) {
			return record->words[i];
		}
	}
	return otherwise;
}

/* Returns whether RECORD of SITE, which may be NULL, is a call that no rank leaves before all have
 * entered. Sets communicator, function and `empty` of *call. */
static bool sync_call(const struct hk_record *record, const struct hk_chunk_site *site,
		      struct hk_sync_call *call)
{
	if (!site || !(site->flags & HK_HOOK_SYNC_ALL) || record->kind != HK_CHUNK_KIND_CALL) {
		return false;
	}
	call->comm = word_of(record, site, HK_KEY_COMM, 0);
	call->function = site->function;
	call->empty = word_of(record, site, HK_KEY_BYTES, 1) == 0;
	return true;
}

static int add_record(struct check *check, const struct hk_merged *merged)
{
	const struct input *input = &check->inputs[merged->input];
	const struct hk_record *record = merged->record;
	struct hk_sync_call call;

	if (!sync_call(record, hk_cursor_site(input->cursor, record->site), &call)) {
		return 0;
	}
	call.process = input->process;
	call.node = input->node;
	call.bound_ns = input->bound_ns;
	call.enter_ns = merged->start_ns;
	call.exit_ns = hk_source_end_ns(input->clock, input->tick_ns_q32, record);
	return hk_sync_add(check->sync, &call);
}

static int read_calls(struct check *check)
{
	struct hk_merge *merge = NULL;
	struct hk_merged merged;
	int more, r = merge_new(check, &merge);

	while (r == 0 && (more = hk_merge_next(merge, &merged)) != 0) {
		/* A file that is unreadable from here is finished. */
		r = more > 0 ? add_record(check, &merged) : more == -ENOMEM ? more : 0;
	}
	hk_merge_free(merge);
	return r;
}

/* ---- results ---- */

static int64_t origin_of(const struct check *check, uint32_t node)
{
	for (size_t i = 0; i < check->count; i++) {
		if (check->inputs[i].node == node) {
			return check->inputs[i].clock->root_start_ns;
		}
	}
	return 0;
}

static void apply(struct check *check, uint64_t reference_bound_ns)
{
	Hk__Job *job = check->snapshot->job;
	struct hk_sync_result sum = hk_sync_finish(check->sync);

	job->sync_checks = sum.checks;
	job->sync_violations = sum.violations;
	for (uint32_t i = 0; i < job->n_nodes; i++) {
		Hk__Node *node = job->nodes[i];
		struct hk_sync_result result = hk_sync_node(check->sync, i + 1);
		struct hk_clock_slack *slack = hk_sync_slack(check->sync, i + 1);
		node->sync_checks = result.checks;
		node->sync_violations = result.violations;
		if (slack && node->clock) {
			hk_clock_slack_spread(slack, hk_clock_slack_rate_ppb(node->clock));
			hk_clock_slack_tighten(slack, origin_of(check, i + 1), reference_bound_ns,
					       node->clock);
		}
	}
}

static int run(struct check *check, const char *directory)
{
	uint64_t reference_bound_ns;
	int r = hk_report_clock_all(check->snapshot, &check->clocks);

	r = r < 0 ? r : open_inputs(check, directory);
	check->options.nodes = check->snapshot->job->n_nodes + 1;
	check->options.reference = best_node(check, &reference_bound_ns);
	r = r < 0 ? r : hk_sync_new(&check->options, &check->sync);
	r = r < 0 ? r : read_calls(check);
	if (r == 0) {
		apply(check, reference_bound_ns);
	}
	return r;
}

int hk_clocks_check(Hk__Snapshot *snapshot, const char *directory, uint64_t limit)
{
	struct check check = {.snapshot = snapshot};

	if (!snapshot->job || !is_worth(snapshot, limit)) {
		return 0;
	}
	int r = run(&check, directory);
	for (size_t i = 0; i < check.count; i++) {
		hk_cursor_free(check.inputs[i].cursor);
		close(check.inputs[i].fd);
	}
	hk_sync_free(check.sync);
	hk_loader_free(check.loader);
	free(check.inputs);
	free(check.clocks);
	return r == -ENOMEM ? r : 0;
}
