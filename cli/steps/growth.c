#include "cli/steps/growth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "cli/steps/steps.h"
#include "cli/timeline/timeline.h"
#include "hooks/hook.h"

#define DEPTH_MOST 256u /* deeper calls count as their callers */

struct sum {
	const char *function; /* the key */
	double before_ns, after_ns;
	UT_hash_handle hh;
};

/* A call under way. */
struct frame {
	struct sum *sum;
	uint64_t start_ns, end_ns, inner_ns;
	bool waits; /* it waits for other ranks, or is called by what does */
};

struct read {
	const struct hk_growth_query *query;
	struct hk_growth *growth;
};

struct hk_exporter {
	const struct read *read;
	struct hk_report_strings strings;
	struct sum *sums;
	struct frame frames[DEPTH_MOST];
	size_t depth;
	double inside_before_ns, inside_after_ns; /* outermost calls */
};

static bool is_in(const struct hk_growth_span *span, uint64_t time_ns)
{
	return time_ns >= span->from_ns && time_ns < span->to_ns;
}

/* Ends the innermost call. */
static void leave(struct hk_exporter *exporter)
{
	const struct hk_growth_query *query = exporter->read->query;
	const struct frame *frame = &exporter->frames[--exporter->depth];
	uint64_t whole_ns = frame->end_ns - frame->start_ns;
	bool before = is_in(&query->before, frame->start_ns);
	bool after = is_in(&query->after, frame->start_ns);
	double own_ns = whole_ns > frame->inner_ns ? (double)(whole_ns - frame->inner_ns) : 0;

	if (!query->own || !frame->waits) {
		frame->sum->before_ns += before ? own_ns : 0;
		frame->sum->after_ns += after ? own_ns : 0;
	}
	if (exporter->depth > 0) {
		exporter->frames[exporter->depth - 1].inner_ns += whole_ns;
	} else {
		exporter->inside_before_ns += before ? (double)whole_ns : 0;
		exporter->inside_after_ns += after ? (double)whole_ns : 0;
	}
}

/* Returns the sum of FUNCTION, or NULL without memory. */
static struct sum *sum_of(struct hk_exporter *exporter, const char *function)
{
	const char *name = hk_report_strings_get(&exporter->strings, function);
	struct sum *sum = NULL;

	if (!name) {
		return NULL;
	}
	HASH_FIND_PTR(exporter->sums, &name, sum);
	if (sum || !(sum = calloc(1, sizeof(*sum)))) {
		return sum;
	}
	sum->function = name;
	HASH_ADD_PTR(exporter->sums, function, sum);
	if (!sum->hh.tbl) {
		free(sum);
		return NULL;
	}
	return sum;
}

/* ---- the timeline ---- */

static struct hk_exporter *growth_create(const struct hk_export_target *target)
{
	struct hk_exporter *exporter = calloc(1, sizeof(*exporter));

	if (exporter) {
		exporter->read = target->context;
	}
	return exporter;
}

static int growth_begin(struct hk_exporter *exporter, const struct hk_export_job *job)
{
	(void)exporter;
	(void)job;
	return 0;
}

static int growth_open(struct hk_exporter *exporter, struct hk_export_thread *thread,
		       const struct hk_slice *slice)
{
	if (!thread->is_main || strcmp(thread->process->role, "main") != 0 ||
	    slice->site->meaning == HK_MEANING_RANGE) {
		return 0;
	}
	while (exporter->depth > 0 &&
	       exporter->frames[exporter->depth - 1].end_ns <= slice->start_ns) {
		leave(exporter);
	}
	if (exporter->depth == DEPTH_MOST) {
		return 0;
	}
	struct frame frame = {.sum = sum_of(exporter, slice->site->function),
			      .start_ns = slice->start_ns,
			      .end_ns = slice->end_ns,
			      .waits = hk_steps_waits(slice->site)};
	frame.waits |= exporter->depth > 0 && exporter->frames[exporter->depth - 1].waits;
	exporter->frames[exporter->depth++] = frame;
	return frame.sum ? 0 : -ENOMEM;
}

static int growth_close(struct hk_exporter *exporter, struct hk_export_thread *thread,
			const struct hk_slice *slice)
{
	(void)exporter;
	(void)thread;
	(void)slice;
	return 0;
}

/* Returns the time outside of calls in a step of SPAN. */
static double outside_of(const struct hk_growth_span *span, double inside_ns)
{
	return ((double)(span->to_ns - span->from_ns) - inside_ns) / span->steps;
}

static int growth_end(struct hk_exporter *exporter)
{
	const struct hk_growth_query *query = exporter->read->query;
	struct hk_growth *growth = exporter->read->growth;
	const struct sum *most = NULL;

	while (exporter->depth > 0) {
		leave(exporter);
	}
	growth->before_ns = outside_of(&query->before, exporter->inside_before_ns);
	growth->after_ns = outside_of(&query->after, exporter->inside_after_ns);
	for (const struct sum *sum = exporter->sums; sum; sum = sum->hh.next) {
		double before_ns = sum->before_ns / query->before.steps;
		double after_ns = sum->after_ns / query->after.steps;
		if (after_ns - before_ns > growth->after_ns - growth->before_ns) {
			most = sum;
			growth->before_ns = before_ns;
			growth->after_ns = after_ns;
		}
	}
	growth->function = most ? strdup(most->function) : NULL;
	return most && !growth->function ? -ENOMEM : 0;
}

static void growth_free(struct hk_exporter *exporter)
{
	struct sum *sum, *next;

	if (!exporter) {
		return;
	}
	HASH_ITER (hh, exporter->sums, sum, next) {
		HASH_DEL(exporter->sums, sum);
		free(sum);
	}
	hk_report_strings_fini(&exporter->strings);
	free(exporter);
}

static const struct hk_exporter_ops ops = {
    .format = "growth",
    .suffix = "",
    .create = growth_create,
    .begin = growth_begin,
    .open = growth_open,
    .close = growth_close,
    .end = growth_end,
    .free = growth_free,
};

int hk_growth_read(const Hk__Snapshot *snapshot, const char *directory,
		   const struct hk_growth_query *query, struct hk_growth *ret_growth)
{
	const struct hk_span_ranks ranks = {query->rank, query->rank};
	const struct hk_timeline_options options = {.from_ns = INT64_MIN,
						    .to_ns = INT64_MAX,
						    .ranks = &ranks,
						    .rank_count = 1,
						    .ranks_own = true};
	struct read read = {query, ret_growth};
	const struct hk_export_target target = {.context = &read};
	struct hk_timeline_result result;

	*ret_growth = (struct hk_growth){0};
	return hk_timeline_export(snapshot, directory, &ops, &target, &options, &result);
}

void hk_growth_fini(struct hk_growth *growth)
{
	free(growth->function);
	*growth = (struct hk_growth){0};
}
