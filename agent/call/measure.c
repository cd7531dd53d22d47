#include "agent/call/measure.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/call/append.h"
#include "agent/call/count.h"
#include "agent/call/launches.h"
#include "agent/frame/hot.h"
#include "agent/frame/limit.h"
#include "agent/frame/plan.h"
#include "agent/frame/site.h"
#include "agent/frame/site_table.h"
#include "agent/frame/state.h"
#include "agent/patch/patch.h"
#include "agent/record/process.h"
#include "agent/runtime/arguments.h"
#include "agent/runtime/operand.h"
#include "agent/runtime/values.h"
#include "agent/stack/tree.h"
#include "base/clock.h"
#include "ring/sample.h"

static int make_octave(void *cell, void *octave)
{
	uint64_t signals = hk_process_block_signals();
	hk_in_agent = 1;
	uint32_t offset = hk_thread_octave(cell, (uint32_t)(uintptr_t)octave);
	hk_in_agent = 0;
	hk_process_restore_signals(signals);
	return (int)offset;
}

/* Returns whether the call failed, by its result, or by errno if the result does not show it. */
static bool failed(const struct hk_call *call)
{
	const struct hk_hook *hook = call->site->hook;
	if (!hk_operand_suspect(call)) {
		return false;
	}
	if (hook->error == HK_ERROR_NONZERO) {
		return hk_operand_failed(call);
	}
	if (hook->error == HK_ERROR_ERRNO) {
		bool wide = hook->result == HK_TYPE_LONG;
		int reason = errno;
		return (!wide || (int64_t)call->result == -1) && reason != EAGAIN &&
		       reason != EINPROGRESS && reason != EINTR;
	}
	return true;
}

static void count_sample(const struct hk_thread *thread, const struct hk_call *call, uint64_t ns,
			 uint64_t bytes)
{
	struct hk_cell *cell = call->cell;
	uint64_t callees = thread->child_ns;
	hk_count_add(&cell->sampled, 1);
	hk_count_add(&cell->sampled_ns, ns);
	hk_count_add(&cell->sampled_self_ns, ns > callees ? ns - callees : 0);
	if (!(call->domains & call->site->domain)) {
		hk_count_add(&cell->sampled_outermost_ns, ns);
	}
	hk_count_add(&cell->sampled_bytes, bytes);
}

static void count_duration(struct hk_thread *thread, struct hk_cell *cell, uint64_t ns, bool sample)
{
	hk_count_raise(&cell->max_ns, ns);
	hk_count_lower(&cell->min_ns, ns);
	uint32_t index = hk_histogram_index(ns);
	uint32_t octave = index / HK_OCTAVE_BUCKETS;
	uint32_t offset = cell->octave[octave];
	if (!offset && hk_state_may_save()) {
		offset = (uint32_t)hk_state_saved(make_octave, cell, (void *)(uintptr_t)octave);
	}
	if (offset) { /* without room for the histogram, the totals still count */
		hk_count_add(hk_count_bucket(thread, offset, index % HK_OCTAVE_BUCKETS),
			     sample ? HK_SAMPLE_WEIGHT : 1);
	}
}

/* Writes a record of level record+args or record+stack. Its length depends on the arguments. */
static void record_arguments(struct hk_thread *thread, struct hk_call *call, uint64_t ns,
			     enum hk_record_kind kind, struct hk_payload *payload)
{
	payload->count = call->site->payload;
	hk_arguments_keep(call, payload);
	bool wanted = call->site->level == HK_LEVEL_STACK &&
		      hk_limit_take(call->site->index, call->start_ticks);
	uint32_t stack = wanted ? hk_tree_take(thread, call) : 0;
	if (stack) {
		hk_count_add(&call->cell->stacks, 1);
		kind = kind == HK_RECORD_CALL ? HK_RECORD_CALL_STACK : HK_RECORD_FAILED_STACK;
		payload->words[payload->count++] = stack;
	}
	hk_append_record(thread, call, ns, kind, payload->words, payload->count);
}

void hk_call_measure(struct hk_thread *thread, struct hk_call *call, uint64_t ns)
{
	const struct hk_site_hot *site = call->site;
	uint8_t flags = __atomic_load_n(&site->flags, __ATOMIC_RELAXED);
	struct hk_payload payload;
	uint64_t *values = payload.words, bytes = 0;
	bool sampled = site->level == HK_LEVEL_SAMPLE;
	hk_count_totals(thread, call, ns, hk_count_is_outermost(call));
	count_duration(thread, call->cell, ns, sampled);
	enum hk_record_kind kind = HK_RECORD_CALL;
	if (failed(call)) {
		kind = HK_RECORD_FAILED;
		hk_count_add(&call->cell->errors, 1);
	}
	if (flags & HK_HOT_VALUES) {
		hk_values_read(call, values);
		bytes = hk_operand_failed(call) ? 0 : hk_count_bytes(call, values);
	}
	if (sampled) { /* the short way out does not handle these: hk_plan_flags */
		count_sample(thread, call, ns, bytes);
	}
	if (hk_observer && hk_state_has_bytes(HK_OBSERVER_STACK_BYTES)) {
		struct hk_observed observed = {ns, flags & HK_HOT_VALUES ? values : NULL};
		hk_state_saved(hk_observer, call, &observed);
	}
	if (flags & HK_HOT_ARGUMENTS) {
		record_arguments(thread, call, ns, kind, &payload);
	} else if (flags & HK_HOT_RECORD) {
		hk_append_record(thread, call, ns, kind, values, site->payload);
	}
	if (site->stack_words & HK_STACK_WORDS_DEVICE) {
		hk_launches_end(thread, call, flags & HK_HOT_VALUES ? values : NULL);
	}
}

/* ---- calls that were left ---- */

static int rearm(void *index, void *return_address)
{
	if (hk_in_agent) {
		hk_patch_revisit();
		return 0;
	}
	uint64_t signals = hk_process_block_signals();
	hk_in_agent = 1;
	if (!hk_site_rearm((uint32_t)(uintptr_t)index, (uintptr_t)return_address)) {
		hk_patch_revisit();
		hk_patch_refresh_late();
	}
	hk_in_agent = 0;
	hk_process_restore_signals(signals);
	return 0;
}

void hk_call_rearm(const struct hk_site_hot *site, uint64_t return_address)
{
	hk_state_saved(rearm, (void *)(uintptr_t)site->index, (void *)return_address);
}

/* Returns whether the last record of the call's chain is the call's: a signal handler may have
 * jumped away after it was published and before the call was closed. */
static bool is_recorded(const struct hk_thread *thread, const struct hk_site_hot *site,
			uint64_t start_ticks)
{
	const struct hk_chain_end *chain = &thread->chain[site->stream];
	/* Words of a record: one more for a long duration; with arguments, any number. */
	for (uint64_t payload = site->payload; payload <= HK_RECORD_WORDS_MAX; payload++) {
		size_t words = HK_RECORD_HEADER_WORDS + payload;
		if (!chain->page || (size_t)(chain->cursor - chain->page->body) < words) {
			continue;
		}
		const uint64_t *last = chain->cursor - words;
		if (last[0] == start_ticks && last[1] >> HK_RECORD_WORDS_SHIFT == payload &&
		    (last[1] >> HK_RECORD_SITE_SHIFT & (HK_SITES_MAX - 1)) == hk_hot_number(site)) {
			return true;
		}
	}
	return false;
}

/* Records a call that will never return to the agent. Its values are unknown and read as 0. */
static void record_left(struct hk_thread *thread, const struct hk_open_call *open)
{
	static const uint64_t unknown[HK_HOOK_VALUES];
	struct hk_site_hot *site = hk_site_table_find(open->site);
	if (!site || !(site->flags & HK_HOT_RECORD) ||
	    is_recorded(thread, site, open->start_ticks)) {
		return;
	}
	/* Only these fields are read. Clearing the whole struct might call memset. */
	struct hk_call left;
	left.site = site;
	left.start_ticks = open->start_ticks;
	left.depth = 0;
	uint64_t ticks = hk_process_ticks() - left.start_ticks;
	uint64_t ns = hk_clock_ticks_to_ns(ticks, hk_process.tick_ns_q32);
	/* hk_in_agent is set on the slow path, but taking a page is safe here: no lock is held. */
	uint32_t inside = hk_in_agent;
	hk_in_agent = 0;
	hk_append_record(thread, &left, ns > HK_CALL_ABSURD_NS ? 0 : ns, HK_RECORD_UNWOUND, unknown,
			 left.site->payload);
	hk_in_agent = inside;
}

void hk_call_left(struct hk_thread *thread, const struct hk_open_call *open)
{
	const struct hk_site_hot *site = hk_site_table_find(open->site);
	if (site && (site->flags & HK_HOT_LAZY)) {
		/* The site's first call may have left the slot to the loader. */
		hk_call_rearm(site, 0);
	}
	record_left(thread, open);
}

/* ---- calls of plain sites, ranges and instants ---- */

void hk_call_measure_plain(struct hk_thread *thread, struct hk_call *call, uint64_t ns, bool failed)
{
	bool sampled = call->site->level == HK_LEVEL_SAMPLE;
	hk_count_totals(thread, call, ns, hk_count_is_outermost(call));
	count_duration(thread, call->cell, ns, sampled);
	if (failed) {
		hk_count_add(&call->cell->errors, 1);
	}
	if (sampled) {
		count_sample(thread, call, ns, 0);
	}
	if (call->site->flags & HK_HOT_RECORD) {
		hk_append_record(thread, call, ns, failed ? HK_RECORD_FAILED : HK_RECORD_CALL, NULL,
				 0);
	}
}

void hk_call_note_instant(struct hk_call *call, const uint64_t *value)
{
	hk_count_add(&call->cell->calls, 1);
	if (call->site->flags & HK_HOT_RECORD) {
		hk_append_record(call->thread, call, 0, HK_RECORD_CALL, value, call->site->payload);
	}
}

void hk_call_note_duration(struct hk_call *call, uint64_t ns, uint64_t bytes)
{
	hk_count_add(&call->cell->calls, 1);
	if (call->site->level > HK_LEVEL_COUNT) {
		hk_count_add(&call->cell->total_ns, ns);
		hk_count_add(&call->cell->bytes, bytes);
		count_duration(call->thread, call->cell, ns, false);
	}
	if (call->site->flags & HK_HOT_RECORD) {
		hk_append_record(call->thread, call, 0, HK_RECORD_CALL, &bytes,
				 call->site->payload);
	}
}
