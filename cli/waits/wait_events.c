#include "cli/waits/wait_events.h"

#include <errno.h>
#include <stdlib.h>

#include <uthash.h>

#include "cli/waits/collective.h"
#include "hooks/hook.h"
#include "report/model/strings.h"

#define SENDS_MOST 262144u /* sends that are kept until their receive ends */

/* A send whose message may be received later. */
struct sent {
	uint64_t id;
	int32_t rank;
	const char *function;
	bool blocks;
	uint64_t start_ns, end_ns; /* end_ns: 0 while it is open */
	uint64_t receive_ns;	   /* start of its receive; 0: not known yet */
	uint64_t receive_end_ns;
	uint64_t error_ns; /* of both clocks, once the receive is known */
	int32_t receiver;
	UT_hash_handle hh; /* in the order of their starts */
};

struct hk_wait_events {
	hk_wait_event_fn *found;
	void *context;
	struct hk_report_strings strings;
	struct sent *sent;
	struct hk_collectives *collectives;
	struct hk_wait_counts counts;
};

/* Returns FUNCTION as one pointer for all processes, NULL without memory. */
static const char *name_of(struct hk_wait_events *events, const char *function)
{
	return hk_report_strings_get(&events->strings, function);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- collectives ---- */

/* Returns whether another rank than that of AWAITED may have been the last one to enter. */
static bool is_rivalled(const struct hk_collective *collective, const struct hk_wait_part *awaited)
{
	for (size_t i = 0; i < collective->count; i++) {
		const struct hk_wait_part *part = &collective->parts[i];
		uint64_t error_ns = part->error_ns + awaited->error_ns;
		if (part != awaited && error_ns > 0 &&
		    collective->pattern != HK_WAIT_LATE_BROADCAST &&
		    part->start_ns + error_ns >= awaited->start_ns) {
			return true;
		}
	}
	return false;
}

/* Passes on the waits for AWAITED of all other parts. */
static int parts_pass(struct hk_wait_events *events, const struct hk_collective *collective,
		      const struct hk_wait_part *awaited)
{
	bool rivalled = is_rivalled(collective, awaited);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < collective->count; i++) {
		const struct hk_wait_part *part = &collective->parts[i];
		uint64_t wait_ns = hk_wait_of(collective->pattern, part, awaited);
		const struct hk_wait_event event = {
		    .pattern = collective->pattern,
		    .function = collective->function,
		    .rank = part->rank,
		    .awaited = awaited->rank,
		    .start_ns = part->start_ns,
		    .end_ns = part->end_ns,
		    .until_ns = part->start_ns + wait_ns,
		    .awaited_end_ns = awaited->end_ns,
		    .joint = collective->id,
		    .comm = collective->comm,
		    .certain = wait_ns > 0,
		    .rivalled = rivalled,
		};
		if (part != awaited &&
		    (collective->pattern != HK_WAIT_EARLY_REDUCE || part->is_root)) {
			rc = events->found(events->context, &event);
		}
	}
	return rc;
}

static int collective_take(void *context, const struct hk_collective *collective)
{
	struct hk_wait_events *events = context;
	const struct hk_wait_parts parts = {collective->pattern, collective->parts,
					    collective->count};
	const struct hk_wait_part *awaited = hk_wait_awaited(&parts);

	if (collective->count < 2) {
		events->counts.alone++;
		return 0;
	}
	events->counts.collectives++;
	if (!awaited || hk_wait_contradicts(&parts, awaited)) {
		events->counts.doubtful += awaited != NULL;
		return 0;
	}
	return parts_pass(events, collective, awaited);
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

static uint64_t comm_of(const struct hk_slice *slice)
{
	for (unsigned i = 0; i < slice->word_count; i++) {
		if (slice->site->keys[i] == HK_KEY_COMM) {
			return slice->words[i];
		}
	}
	return 0;
}

static int collective_enter(struct hk_wait_events *events, const struct hk_export_thread *thread,
			    const struct hk_slice *slice)
{
	const struct hk_wait_part part = {
	    .rank = thread->process->rank,
	    .is_root = is_root(thread, slice),
	    .start_ns = slice->start_ns,
	    .end_ns = slice->end_ns,
	    .error_ns = thread->process->clock_error_ns,
	};
	const struct hk_collective_call call = {
	    .id = slice->flow_joint,
	    .comm = comm_of(slice),
	    .function = name_of(events, slice->site->function),
	};

	if (hk_wait_pattern_of(slice->site->function) == HK_WAIT_NONE) {
		return 0;
	}
	return call.function ? hk_collectives_enter(events->collectives, &call, &part) : -ENOMEM;
}

/* ---- messages ---- */

static void sent_forget(struct hk_wait_events *events, struct sent *sent)
{
	HASH_DEL(events->sent, sent);
	free(sent);
}

static int sent_add(struct hk_wait_events *events, const struct hk_export_thread *thread,
		    const struct hk_slice *slice)
{
	const char *function = name_of(events, slice->site->function);
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
	HASH_ADD(hh, events->sent, id, sizeof(sent->id), sent);
	if (!sent->hh.tbl) {
		free(sent);
		return -ENOMEM;
	}
	if (HASH_COUNT(events->sent) > SENDS_MOST) {
		sent_forget(events, events->sent);
	}
	return 0;
}

static struct sent *sent_of(struct hk_wait_events *events, uint64_t id)
{
	struct sent *sent;

	HASH_FIND(hh, events->sent, &id, sizeof(id), sent);
	return sent;
}

/* Passes on what SENT, which has ended, waited for its receive, and forgets it. */
static int receiver_add(struct hk_wait_events *events, struct sent *sent)
{
	const struct hk_wait_event event = {
	    .pattern = HK_WAIT_LATE_RECEIVER,
	    .function = sent->function,
	    .rank = sent->rank,
	    .awaited = sent->receiver,
	    .start_ns = sent->start_ns,
	    .end_ns = sent->end_ns,
	    .until_ns = sent->receive_ns,
	    .awaited_end_ns = sent->receive_end_ns,
	    .certain = sent->receive_ns > sent->start_ns + sent->error_ns,
	};
	bool waits =
	    sent->blocks && sent->receive_ns > sent->start_ns && sent->end_ns >= sent->receive_ns;

	sent_forget(events, sent);
	return waits ? events->found(events->context, &event) : 0;
}

static int sent_close(struct hk_wait_events *events, const struct hk_slice *slice)
{
	struct sent *sent = sent_of(events, slice->flow_out);

	if (!sent) {
		return 0;
	}
	sent->end_ns = slice->end_ns;
	return sent->receive_ns > 0 ? receiver_add(events, sent) : 0;
}

/* Notes that the message of SENT arrived in SLICE. */
static int arrival_note(struct hk_wait_events *events, const struct hk_export_thread *thread,
			const struct hk_slice *slice, struct sent *sent)
{
	sent->receive_ns = slice->start_ns;
	sent->receive_end_ns = slice->end_ns;
	sent->receiver = thread->process->rank;
	sent->error_ns += thread->process->clock_error_ns;
	return sent->end_ns > 0 ? receiver_add(events, sent) : 0;
}

/* Passes on what SLICE waited for the last of the messages that arrived in it. */
static int arrivals_add(struct hk_wait_events *events, const struct hk_export_thread *thread,
			const struct hk_slice *slice)
{
	struct hk_wait_event event = {.pattern = HK_WAIT_LATE_SENDER,
				      .function = name_of(events, slice->site->function),
				      .rank = thread->process->rank,
				      .start_ns = slice->start_ns,
				      .end_ns = slice->end_ns};
	uint64_t last_ns = slice->start_ns;
	int rc = event.function ? 0 : -ENOMEM;

	for (uint32_t i = 0; rc == 0 && i < slice->arrival_count; i++) {
		const struct hk_export_arrival *arrival = &slice->arrivals[i];
		struct sent *sent = sent_of(events, arrival->id);
		if (!sent) {
			continue;
		}
		if (arrival->sent_ns > last_ns) {
			last_ns = arrival->sent_ns;
			event.awaited = sent->rank;
			event.awaited_end_ns = sent->end_ns;
		}
		rc = arrival_note(events, thread, slice, sent);
	}
	events->counts.messages += slice->arrival_count;
	event.until_ns = least(last_ns, slice->end_ns);
	event.certain = event.until_ns - event.start_ns > 2 * thread->process->clock_error_ns;
	return rc == 0 && event.until_ns > event.start_ns ? events->found(events->context, &event)
							  : rc;
}

/* ---- calls ---- */

struct hk_wait_events *hk_wait_events_new(hk_wait_event_fn *found, void *context)
{
	struct hk_wait_events *events = calloc(1, sizeof(*events));

	if (!events) {
		return NULL;
	}
	events->found = found;
	events->context = context;
	events->collectives = hk_collectives_new(collective_take, events);
	return events->collectives ? events : hk_wait_events_free(events);
}

struct hk_wait_events *hk_wait_events_free(struct hk_wait_events *events)
{
	while (events && events->sent) {
		sent_forget(events, events->sent);
	}
	if (events) {
		hk_collectives_free(events->collectives);
		hk_report_strings_fini(&events->strings);
		free(events);
	}
	return NULL;
}

int hk_wait_events_open(struct hk_wait_events *events, const struct hk_export_thread *thread,
			const struct hk_slice *slice)
{
	if (thread->process->rank < 0) {
		return 0;
	}
	if (slice->flow_joint) {
		return collective_enter(events, thread, slice);
	}
	return slice->flow_out ? sent_add(events, thread, slice) : 0;
}

int hk_wait_events_close(struct hk_wait_events *events, const struct hk_export_thread *thread,
			 const struct hk_slice *slice)
{
	int rc = slice->flow_out ? sent_close(events, slice) : 0;

	return rc == 0 && slice->arrival_count > 0 && thread->process->rank >= 0
		   ? arrivals_add(events, thread, slice)
		   : rc;
}

int hk_wait_events_finish(struct hk_wait_events *events)
{
	return hk_collectives_finish(events->collectives);
}

struct hk_wait_counts hk_wait_events_counts(const struct hk_wait_events *events)
{
	return events->counts;
}
