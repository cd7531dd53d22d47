#include "cli/waits/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "cli/timeline/timeline.h"
#include "cli/waits/collective.h"
#include "hooks/hook.h"

#define SENDS_MOST 262144u /* sends that are kept until their receive ends */

struct sum {
	struct {
		const char *function;
		int32_t rank, awaited;
		uint64_t pattern;
	} key;
	struct hk_wait_row row;
	UT_hash_handle hh;
};

/* A send whose message may be received later. */
struct sent {
	uint64_t id;
	int32_t rank;
	const char *function;
	bool blocks;
	uint64_t start_ns, end_ns; /* end_ns: 0 while it is open */
	uint64_t receive_ns;	   /* start of its receive; 0: not known yet */
	uint64_t error_ns;	   /* of both clocks, once the receive is known */
	int32_t receiver;
	UT_hash_handle hh; /* in the order of their starts */
};

struct hk_exporter {
	struct hk_waits *waits;
	struct sum *sums;
	struct sent *sent;
	struct hk_collectives *collectives;
};

/* ---- sums ---- */

/* Returns FUNCTION as one pointer for all processes, NULL without memory. */
static const char *name_of(struct hk_exporter *exporter, const char *function)
{
	return hk_report_strings_get(&exporter->waits->strings, function);
}

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

/* Adds that RANK waited WAIT_NS for AWAITED in FUNCTION, a name of name_of. */
static void wait_add(struct hk_exporter *exporter, const struct hk_wait_row *wait)
{
	struct sum like = {.row = *wait};

	memset(&like.key, 0, sizeof(like.key));
	like.key.function = wait->function;
	like.key.rank = wait->rank;
	like.key.awaited = wait->awaited;
	like.key.pattern = wait->pattern;
	like.row.waits = like.row.longest_ns = like.row.wait_ns = 0;
	struct sum *sum = sum_of(exporter, &like);
	if (!sum) {
		exporter->waits->left_out++;
		return;
	}
	sum->row.waits++;
	sum->row.wait_ns += wait->wait_ns;
	sum->row.longest_ns =
	    wait->wait_ns > sum->row.longest_ns ? wait->wait_ns : sum->row.longest_ns;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- collectives ---- */

static int collective_take(void *context, const struct hk_collective *collective)
{
	struct hk_exporter *exporter = context;
	const struct hk_wait_parts parts = {collective->pattern, collective->parts,
					    collective->count};
	const struct hk_wait_part *awaited = hk_wait_awaited(&parts);

	if (collective->count < 2) {
		exporter->waits->alone++;
		return 0;
	}
	exporter->waits->collectives++;
	if (!awaited || hk_wait_contradicts(&parts, awaited)) {
		exporter->waits->doubtful += awaited != NULL;
		return 0;
	}
	for (size_t i = 0; i < collective->count; i++) {
		const struct hk_wait_part *part = &collective->parts[i];
		const struct hk_wait_row wait = {
		    .pattern = collective->pattern,
		    .function = collective->function,
		    .rank = part->rank,
		    .awaited = awaited->rank,
		    .wait_ns = hk_wait_of(collective->pattern, part, awaited),
		};
		if (wait.wait_ns > 0) {
			wait_add(exporter, &wait);
		}
	}
	return 0;
}

/* Returns whether the process of THREAD is the root of the collective SLICE. Ranks of other
 * communicators than MPI_COMM_WORLD are not known. */
static bool is_root(const struct hk_export_thread *thread, const struct hk_slice *slice)
{
	bool root = false, world = false;

	for (unsigned i = 0; i < slice->word_count; i++) {
		root |= slice->site->keys[i] == HK_KEY_PEER &&
			(int32_t)slice->words[i] == thread->process->rank;
		world |= slice->site->keys[i] == HK_KEY_COMM && slice->words[i] == HK_COMM_WORLD;
	}
	return root && world;
}

static int collective_enter(struct hk_exporter *exporter, const struct hk_export_thread *thread,
			    const struct hk_slice *slice)
{
	const struct hk_wait_part part = {
	    .rank = thread->process->rank,
	    .is_root = is_root(thread, slice),
	    .start_ns = slice->start_ns,
	    .end_ns = slice->end_ns,
	    .error_ns = thread->process->clock_error_ns,
	};
	const char *function = name_of(exporter, slice->site->function);

	if (hk_wait_pattern_of(slice->site->function) == HK_WAIT_NONE) {
		return 0;
	}
	return function
		   ? hk_collectives_enter(exporter->collectives, slice->flow_joint, function, &part)
		   : -ENOMEM;
}

/* ---- messages ---- */

static void sent_forget(struct hk_exporter *exporter, struct sent *sent)
{
	HASH_DEL(exporter->sent, sent);
	free(sent);
}

static int sent_add(struct hk_exporter *exporter, const struct hk_export_thread *thread,
		    const struct hk_slice *slice)
{
	const char *function = name_of(exporter, slice->site->function);
	struct sent *sent = function ? calloc(1, sizeof(*sent)) : NULL;

	if (!sent) {
		return -ENOMEM;
	}
	*sent = (struct sent){.id = slice->flow_out,
			      .rank = thread->process->rank,
			      .function = function,
			      .error_ns = thread->process->clock_error_ns,
			      .blocks = hk_wait_blocks(slice->site->function),
			      .start_ns = slice->start_ns};
	HASH_ADD(hh, exporter->sent, id, sizeof(sent->id), sent);
	if (!sent->hh.tbl) {
		free(sent);
		return -ENOMEM;
	}
	if (HASH_COUNT(exporter->sent) > SENDS_MOST) {
		sent_forget(exporter, exporter->sent);
	}
	return 0;
}

static struct sent *sent_of(struct hk_exporter *exporter, uint64_t id)
{
	struct sent *sent;

	HASH_FIND(hh, exporter->sent, &id, sizeof(id), sent);
	return sent;
}

/* Adds what SENT, which has ended, waited for its receive, and forgets it. */
static void receiver_add(struct hk_exporter *exporter, struct sent *sent)
{
	if (sent->blocks && sent->receive_ns > sent->start_ns + sent->error_ns &&
	    sent->end_ns >= sent->receive_ns) {
		const struct hk_wait_row wait = {
		    .pattern = HK_WAIT_LATE_RECEIVER,
		    .function = sent->function,
		    .rank = sent->rank,
		    .awaited = sent->receiver,
		    .wait_ns = sent->receive_ns - sent->start_ns,
		};
		wait_add(exporter, &wait);
	}
	sent_forget(exporter, sent);
}

static void sent_close(struct hk_exporter *exporter, const struct hk_slice *slice)
{
	struct sent *sent = sent_of(exporter, slice->flow_out);

	if (sent) {
		sent->end_ns = slice->end_ns;
		if (sent->receive_ns > 0) {
			receiver_add(exporter, sent);
		}
	}
}

/* Adds what SLICE waited for the last of the messages that arrived in it. */
static int arrivals_add(struct hk_exporter *exporter, const struct hk_export_thread *thread,
			const struct hk_slice *slice)
{
	struct hk_wait_row wait = {.pattern = HK_WAIT_LATE_SENDER,
				   .function = name_of(exporter, slice->site->function),
				   .rank = thread->process->rank};
	uint64_t last_ns = slice->start_ns;

	for (uint32_t i = 0; i < slice->arrival_count; i++) {
		const struct hk_export_arrival *arrival = &slice->arrivals[i];
		struct sent *sent = sent_of(exporter, arrival->id);
		if (!sent) {
			continue;
		}
		if (arrival->sent_ns > last_ns) {
			last_ns = arrival->sent_ns;
			wait.awaited = sent->rank;
		}
		sent->receive_ns = slice->start_ns;
		sent->receiver = thread->process->rank;
		sent->error_ns += thread->process->clock_error_ns;
		if (sent->end_ns > 0) {
			receiver_add(exporter, sent);
		}
	}
	exporter->waits->messages += slice->arrival_count;
	wait.wait_ns = least(last_ns, slice->end_ns) - slice->start_ns;
	if (wait.function && wait.wait_ns > 2 * thread->process->clock_error_ns) {
		wait_add(exporter, &wait);
	}
	return wait.function ? 0 : -ENOMEM;
}

/* ---- the timeline ---- */

static struct hk_exporter *waits_create(const struct hk_export_target *target)
{
	struct hk_exporter *exporter = calloc(1, sizeof(*exporter));

	if (!exporter) {
		return NULL;
	}
	exporter->waits = target->context;
	exporter->collectives = hk_collectives_new(collective_take, exporter);
	if (!exporter->collectives) {
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
	if (thread->process->rank < 0) {
		return 0;
	}
	if (slice->flow_joint) {
		return collective_enter(exporter, thread, slice);
	}
	return slice->flow_out ? sent_add(exporter, thread, slice) : 0;
}

static int waits_close(struct hk_exporter *exporter, struct hk_export_thread *thread,
		       const struct hk_slice *slice)
{
	if (slice->flow_out) {
		sent_close(exporter, slice);
	}
	return slice->arrival_count > 0 && thread->process->rank >= 0
		   ? arrivals_add(exporter, thread, slice)
		   : 0;
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
	int rc = hk_collectives_finish(exporter->collectives);

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
	while (exporter->sent) {
		sent_forget(exporter, exporter->sent);
	}
	hk_collectives_free(exporter->collectives);
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
