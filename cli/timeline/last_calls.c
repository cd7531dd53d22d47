#include "cli/timeline/last_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/timeline/timeline.h"
#include "text/name.h"

#define NAME_COLUMNS ((HK_LAST_CALL_BYTES - 1) / 4)

/* The calls in a ring. */
struct last {
	struct hk_last_call *calls;
	uint64_t count;
};

struct hk_exporter {
	struct last *last;
	uint64_t origin_ns;
};

static struct hk_exporter *last_create(const struct hk_export_target *target)
{
	struct hk_exporter *exporter = calloc(1, sizeof(*exporter));

	if (exporter) {
		exporter->last = target->context;
	}
	return exporter;
}

static int last_begin(struct hk_exporter *exporter, const struct hk_export_job *job)
{
	exporter->origin_ns = job->origin_ns;
	return 0;
}

static int last_close(struct hk_exporter *exporter, struct hk_export_thread *thread,
		      const struct hk_slice *slice)
{
	struct last *last = exporter->last;

	if (thread->is_main && strcmp(thread->process->role, "main") == 0) {
		struct hk_last_call *call = &last->calls[last->count++ % HK_LAST_CALLS];
		hk_name_print(call->function, NAME_COLUMNS, slice->site->function);
		call->start_ns = (int64_t)(slice->start_ns - exporter->origin_ns);
		call->duration_ns = slice->end_ns - slice->start_ns;
	}
	return 0;
}

static int last_end(struct hk_exporter *exporter)
{
	(void)exporter;
	return 0;
}

static void last_free(struct hk_exporter *exporter)
{
	free(exporter);
}

static const struct hk_exporter_ops ops = {
    .format = "last calls",
    .suffix = "",
    .create = last_create,
    .begin = last_begin,
    .close = last_close,
    .end = last_end,
    .free = last_free,
};

static int by_start(const void *a, const void *b)
{
	const struct hk_last_call *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

int hk_last_calls_read(const Hk__Snapshot *snapshot, const char *directory, int32_t rank,
		       struct hk_last_call calls[HK_LAST_CALLS])
{
	const struct hk_span_ranks ranks = {rank, rank};
	const struct hk_timeline_options options = {.from_ns = INT64_MIN,
						    .to_ns = INT64_MAX,
						    .ranks = &ranks,
						    .rank_count = 1,
						    .ranks_own = true};
	struct last last = {.calls = calls};
	const struct hk_export_target target = {.context = &last};
	struct hk_timeline_result result;
	int rc = hk_timeline_export(snapshot, directory, &ops, &target, &options, &result);

	if (rc < 0) {
		return rc;
	}
	size_t count = last.count < HK_LAST_CALLS ? (size_t)last.count : HK_LAST_CALLS;
	qsort(calls, count, sizeof(*calls), by_start);
	return (int)count;
}
