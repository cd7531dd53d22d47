#include "cli/waits/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "cli/timeline/timeline.h"
#include "cli/waits/wait_events.h"

struct sum {
	struct {
		const char *function;
		int32_t rank, awaited;
		uint64_t pattern;
	} key;
	struct hk_wait_row row;
	UT_hash_handle hh;
};

struct hk_exporter {
	struct hk_waits *waits;
	struct sum *sums;
	struct hk_wait_events *events;
};

/* ---- sums ---- */

static struct sum *sum_of(struct hk_exporter *exporter, const struct sum *like)
{
	struct sum *sum;

	HASH_FIND(hh, exporter->sums, &like->key, sizeof(like->key), sum);
	if (sum || HASH_COUNT(exporter->sums) >= HK_WAIT_ROWS || !(sum = calloc(1, sizeof(*sum)))) {
		return sum;
	}
	sum->key = like->key;
	sum->row = like->row;
	HASH_ADD(hh, exporter->sums, key, sizeof(sum->key), sum);
	if (!sum->hh.tbl) {
		free(sum);
		return NULL;
	}
	return sum;
}

/* Adds the wait of EVENT. */
static int wait_add(void *context, const struct hk_wait_event *event)
{
	struct hk_exporter *exporter = context;
	uint64_t wait_ns = event->until_ns - event->start_ns;
	struct sum like;

	if (!event->certain) {
		return 0;
	}
	memset(&like, 0, sizeof(like));
	like.row.function = hk_report_strings_get(&exporter->waits->strings, event->function);
	if (!like.row.function) {
		return -ENOMEM;
	}
	like.row.pattern = event->pattern;
	like.row.rank = like.key.rank = event->rank;
	like.row.awaited = like.key.awaited = event->awaited;
	like.key.function = like.row.function;
	like.key.pattern = event->pattern;
	struct sum *sum = sum_of(exporter, &like);
	if (!sum) {
		exporter->waits->left_out++;
		return 0;
	}
	sum->row.waits++;
	sum->row.wait_ns += wait_ns;
	sum->row.longest_ns = wait_ns > sum->row.longest_ns ? wait_ns : sum->row.longest_ns;
	return 0;
}

/* ---- the timeline ---- */

static struct hk_exporter *waits_create(const struct hk_export_target *target)
{
	struct hk_exporter *exporter = calloc(1, sizeof(*exporter));

	if (!exporter) {
		return NULL;
	}
	exporter->waits = target->context;
	exporter->events = hk_wait_events_new(wait_add, exporter);
	if (!exporter->events) {
		free(exporter);
		return NULL;
	}
	return exporter;
}

static int waits_begin(struct hk_exporter *exporter, const struct hk_export_job *job)
{
	(void)exporter;
	(void)job;
	return 0;
}

static int waits_open(struct hk_exporter *exporter, struct hk_export_thread *thread,
		      const struct hk_slice *slice)
{
	return hk_wait_events_open(exporter->events, thread, slice);
}

static int waits_close(struct hk_exporter *exporter, struct hk_export_thread *thread,
		       const struct hk_slice *slice)
{
	return hk_wait_events_close(exporter->events, thread, slice);
}

static int waits_flows(struct hk_exporter *exporter, const struct hk_export_flows *flows)
{
	(void)exporter;
	(void)flows;
	return 0;
}

static int by_wait(const void *a, const void *b)
{
	const struct hk_wait_row *x = a, *y = b;

	if (x->wait_ns != y->wait_ns) {
		return x->wait_ns > y->wait_ns ? -1 : 1;
	}
	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : x->awaited - y->awaited;
}

static int waits_end(struct hk_exporter *exporter)
{
	struct hk_waits *waits = exporter->waits;
	int rc = hk_wait_events_finish(exporter->events);
	struct hk_wait_counts counts = hk_wait_events_counts(exporter->events);

	waits->messages = counts.messages;
	waits->collectives = counts.collectives;
	waits->doubtful = counts.doubtful;
	waits->alone = counts.alone;
	waits->rows = calloc(HASH_COUNT(exporter->sums) + 1, sizeof(*waits->rows));
	if (!waits->rows) {
		return -ENOMEM;
	}
	for (const struct sum *sum = exporter->sums; sum; sum = sum->hh.next) {
		waits->rows[waits->count++] = sum->row;
	}
	qsort(waits->rows, waits->count, sizeof(*waits->rows), by_wait);
	return rc;
}

static void waits_free(struct hk_exporter *exporter)
{
	struct sum *sum, *next;

	if (!exporter) {
		return;
	}
	HASH_ITER (hh, exporter->sums, sum, next) {
		HASH_DEL(exporter->sums, sum);
		free(sum);
	}
	hk_wait_events_free(exporter->events);
	free(exporter);
}

static const struct hk_exporter_ops ops = {
    .format = "waits",
    .suffix = "",
    .create = waits_create,
    .begin = waits_begin,
    .open = waits_open,
    .close = waits_close,
    .flows = waits_flows,
    .end = waits_end,
    .free = waits_free,
};

int hk_waits_read(const Hk__Snapshot *snapshot, const char *directory, struct hk_waits *ret_waits)
{
	const struct hk_timeline_options options = {.from_ns = INT64_MIN, .to_ns = INT64_MAX};
	const struct hk_export_target target = {.context = ret_waits};
	struct hk_timeline_result result;

	*ret_waits = (struct hk_waits){0};
	int rc = hk_timeline_export(snapshot, directory, &ops, &target, &options, &result);
	if (rc < 0) {
		return rc;
	}
	ret_waits->lost = result.lost + result.shed + result.elsewhere;
	if (result.damaged > 0) {
		/* Calls behind a gap would be matched with others than their own. */
		ret_waits->damaged = true;
		ret_waits->count = 0;
		return -EBADMSG;
	}
	return 0;
}

void hk_waits_fini(struct hk_waits *waits)
{
	free(waits->rows);
	hk_report_strings_fini(&waits->strings);
	*waits = (struct hk_waits){0};
}
