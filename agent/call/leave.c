#include "agent/call/leave.h"

#include <stddef.h>

#include "agent/call/append.h"
#include "agent/call/count.h"
#include "agent/call/elsewhere.h"
#include "agent/call/measure.h"
#include "agent/call/open.h"
#include "agent/call/work.h"
#include "agent/frame/hot.h"
#include "agent/frame/site_table.h"
#include "agent/frame/word.h"
#include "agent/record/thread.h"
#include "agent/runtime/comms.h"
#include "agent/runtime/launch_values.h"
#include "agent/runtime/message_values.h"
#include "agent/runtime/operand.h"
#include "agent/runtime/values.h"
#include "base/clock.h"

#define CALL_OFFSET(field) ((int)offsetof(struct hk_call, field) - HK_CALL_BYTES)
static_assert(offsetof(struct hk_call, caller_frame) == HK_CALL_BYTES, "layout.h");
static_assert(CALL_OFFSET(integer) == HK_CALL_INTEGER, "layout.h");
static_assert(CALL_OFFSET(result) == HK_CALL_RESULT, "layout.h");
static_assert(CALL_OFFSET(result2) == HK_CALL_RESULT2, "layout.h");
static_assert(CALL_OFFSET(thread) == HK_CALL_THREAD, "layout.h");
static_assert(CALL_OFFSET(cell) == HK_CALL_CELL, "layout.h");
static_assert(CALL_OFFSET(site) == HK_CALL_SITE, "layout.h");
static_assert(CALL_OFFSET(start_ticks) == HK_CALL_START, "layout.h");
static_assert(CALL_OFFSET(scratch) == HK_CALL_SCRATCH, "layout.h");
static_assert(CALL_OFFSET(child_ns) == HK_CALL_CHILD, "layout.h");
static_assert(CALL_OFFSET(domains) == HK_CALL_DOMAINS, "layout.h");
static_assert(CALL_OFFSET(inner) == HK_CALL_OUTER, "layout.h");
static_assert(CALL_OFFSET(depth) == HK_CALL_DEPTH, "layout.h");
#if defined(__aarch64__)
static_assert(CALL_OFFSET(indirect) == HK_CALL_INDIRECT, "layout.h");
#endif
static_assert(HK_FRAME_BYTES % 16 == 0, "stack alignment");
static_assert(offsetof(struct hk_cell, total_ns) == HK_CELL_TOTAL, "layout.h");
static_assert(offsetof(struct hk_cell, self_ns) == HK_CELL_SELF, "layout.h");
static_assert(offsetof(struct hk_cell, outermost_ns) == HK_CELL_OUTERMOST, "layout.h");
static_assert(offsetof(struct hk_cell, min_ns) == HK_CELL_MIN, "layout.h");
static_assert(offsetof(struct hk_cell, max_ns) == HK_CELL_MAX, "layout.h");
static_assert(offsetof(struct hk_cell, octave) == HK_CELL_OCTAVE, "layout.h");
static_assert(offsetof(struct hk_cell, inner_calls) == HK_CELL_INNER, "layout.h");
static_assert(offsetof(struct hk_chain_end, cursor) == HK_CHAIN_CURSOR, "layout.h");
static_assert(offsetof(struct hk_chain_end, end) == HK_CHAIN_END, "layout.h");
static_assert(offsetof(struct hk_chain_end, page) == HK_CHAIN_PAGE, "layout.h");
static_assert(sizeof(struct hk_chain_end) == 24, "leave_call");
static_assert(offsetof(struct hk_page, written) == HK_PAGE_WRITTEN, "layout.h");
static_assert(offsetof(struct hk_page, body) == HK_PAGE_BODY, "layout.h");
static_assert(HK_OPEN_CALLS == 16 && HK_OCTAVE_BUCKETS == 32, "leave_call");
#if defined(__x86_64__)
static_assert(HK_CLOCK_TICK_SHIFT == 1, "leave_call");
#endif

/* Octaves of durations below the 32-bit escape. As a mask, it keeps every look-up inside the table.
 */
#define HK_OCTAVES_FAST 32u

static inline void restore(struct hk_thread *thread, const struct hk_call *call, uint64_t ns)
{
	thread->child_ns = call->child_ns + ns;
	thread->domains = call->domains;
	thread->inner = call->inner;
	thread->depth = call->depth;
	if (unlikely(call->depth >= HK_OPEN_CALLS)) {
		/* An earlier call had this entry. */
		hk_open_unknown(&thread->slot->open[call->depth % HK_OPEN_CALLS]);
	}
	atomic_store_explicit(&thread->slot->depth, call->depth, memory_order_relaxed);
}

static inline bool is_innermost(const struct hk_thread *thread, const struct hk_call *call)
{
	return thread->inner == (uint64_t)&call->caller_frame;
}

/* Handles any call. Most calls take the short way below. */
static __attribute__((noinline)) void leave(struct hk_call *call, uint64_t ns)
{
	struct hk_thread *thread = call->thread;
	const struct hk_site_hot *site = call->site;
	bool usual = is_innermost(thread, call) || hk_open_close(call);
	ns = ns > HK_CALL_ABSURD_NS ? 0 : ns;
	if (site->level == HK_LEVEL_COUNT) {
		/* The call came here only to be prepared. It is not measured, and its callees count
		 * as its caller's. */
		ns = thread->child_ns;
	} else {
		hk_call_measure(thread, call, ns);
	}
	if (hk_work_is_end(call) && hk_work_begin(thread, call, ns)) {
		hk_work_settle(thread, call, ns);
	}
	if (site->hook->meaning == HK_MEANING_COMM) {
		hk_comms_forget_roots();
	}
	if (site->flags & HK_HOT_LAZY) {
		hk_call_rearm(site, call->return_address);
	}
	if (usual) {
		restore(thread, call, ns);
	}
}

/* Returns whether the call's record is lost without a search for a page. */
static inline bool is_dry(const struct hk_call *call)
{
	return (int64_t)(call->start_ticks - hk_thread_dry_until[call->site->stream]) < 0;
}

static inline void count_lost(struct hk_thread *thread, const struct hk_call *call)
{
	hk_count_add((uint64_t *)&thread->slot->chain[call->site->stream].lost, 1);
}

/* Records a call whose page has no room. */
static __attribute__((noinline)) void record_slowly(struct hk_thread *thread,
						    const struct hk_call *call, uint64_t ns,
						    const uint64_t *values)
{
	if (is_dry(call)) {
		count_lost(thread, call);
	} else {
		hk_append_record(thread, call, ns, HK_RECORD_CALL, values, call->site->payload);
	}
}

/* Returns the place of the call's record, or NULL if the page has no room. Until end_record, signal
 * handlers write no records to the chain. */
static inline uint64_t *begin_record(struct hk_thread *thread, const struct hk_call *call)
{
	const struct hk_site_hot *site = call->site;
	const struct hk_chain_end *chain = &thread->chain[site->stream];
	thread->busy = call->depth + 1;
	atomic_signal_fence(memory_order_seq_cst); /* before the end of the chain is read */
	uint64_t *room = chain->cursor;
	if (unlikely(room + HK_RECORD_HEADER_WORDS + site->payload > chain->end)) {
		thread->busy = 0;
		return NULL;
	}
	hk_append_fetch_ahead(room);
	return room;
}

/* Publishes the record at ROOM, which has its values. */
static inline void end_record(struct hk_thread *thread, const struct hk_call *call, uint64_t ns,
			      uint64_t *room)
{
	const struct hk_site_hot *site = call->site;
	room[0] = call->start_ticks;
	room[1] = site->word1 | ns;
	hk_chain_publish(&thread->chain[site->stream],
			 room + HK_RECORD_HEADER_WORDS + site->payload);
	atomic_signal_fence(memory_order_seq_cst);
	thread->busy = 0;
}

static inline void read_plain(const struct hk_call *call, uint64_t values[HK_HOOK_VALUES])
{
	for (uint32_t i = 0; i < call->site->payload; i++) {
		values[i] = hk_word_read(call, call->site->word[i]);
	}
}

/* Records a call whose values are all plain. */
static inline void record_usual(struct hk_thread *thread, const struct hk_call *call, uint64_t ns)
{
	uint64_t space[HK_HOOK_VALUES], *room = begin_record(thread, call);
	read_plain(call, room ? room + HK_RECORD_HEADER_WORDS : space);
	if (likely(room)) {
		end_record(thread, call, ns, room);
	} else {
		record_slowly(thread, call, ns, space);
	}
}

static inline struct hk_result result_of(const struct hk_call *call)
{
	return (struct hk_result){call->result, call->result2};
}

static __attribute__((noinline)) struct hk_result leave_slowly(struct hk_call *call, uint64_t ns)
{
	leave(call, ns);
	return result_of(call);
}

static __attribute__((noinline)) struct hk_result leave_unready(struct hk_call *call,
								uint64_t end_ticks)
{
	/* Four cases: not measured; started before fork(), so the parent records it; started on
	 * another thread; started before the segment was closed. */
	struct hk_thread *thread = call->thread;
	if (thread && !thread->ready && hk_thread_is_closed(thread)) {
		thread->depth = call->depth < thread->depth ? call->depth : thread->depth;
	} else if (thread && thread != hk_thread_current) {
		hk_call_leave_elsewhere(call, end_ticks);
	}
	return result_of(call);
}

static __attribute__((noinline)) struct hk_result settle(struct hk_call *call, uint64_t ns)
{
	hk_work_settle(call->thread, call, ns);
	return result_of(call);
}

/* The statistics of a call whose values and record are settled, and the work that it WORKS after.
 */
static inline __attribute__((always_inline)) struct hk_result
finish(struct hk_call *call, uint64_t ns, uint64_t *bucket, bool outermost, bool works)
{
	struct hk_thread *thread = call->thread;
	hk_count_totals(thread, call, ns, outermost);
	hk_count_add(bucket, 1);
	bool settles = likely(works) && hk_work_begin(thread, call, ns);
	restore(thread, call, ns);
	if (unlikely(settles)) {
		return settle(call, ns);
	}
	return result_of(call);
}

/* Any call that comes here. */
static __attribute__((noinline)) struct hk_result leave_evaluated(struct hk_call *call, uint64_t ns,
								  uint64_t *bucket)
{
	struct hk_thread *thread = call->thread;
	uint8_t flags = __atomic_load_n(&call->site->flags, __ATOMIC_RELAXED);
	if (hk_operand_suspect(call)) {
		return leave_slowly(call, ns);
	}
	uint64_t *room = flags & HK_HOT_RECORD ? begin_record(thread, call) : NULL;
	uint64_t space[HK_HOOK_VALUES], *values = room ? room + HK_RECORD_HEADER_WORDS : space;
	if (flags & HK_HOT_VALUES) {
		if (flags & HK_HOT_SIMPLE) {
			read_plain(call, values);
		} else if (!hk_values_known(call, values)) {
			thread->busy = 0;
			return leave_slowly(call, ns);
		}
		hk_count_bytes(call, values);
	}
	if (room) {
		end_record(thread, call, ns, room);
	} else if (flags & HK_HOT_RECORD) {
		record_slowly(thread, call, ns, values);
	}
	return finish(call, ns, bucket, hk_count_is_outermost(call), hk_work_is_end(call));
}

static inline void count_sent(const struct hk_call *call, uint64_t bytes)
{
	hk_count_add(&call->cell->bytes, (int64_t)bytes > 0 ? bytes : 0);
}

/* A message at level record whose page has no room. */
static __attribute__((noinline)) struct hk_result leave_unrecorded(struct hk_call *call,
								   uint64_t ns, uint64_t *bucket)
{
	const struct hk_comm *comm;
	uint64_t bytes;
	if (!is_dry(call) || !hk_message_known(call, call->site->message, &comm, &bytes)) {
		return leave_evaluated(call, ns, bucket);
	}
	count_lost(call->thread, call);
	count_sent(call, bytes);
	return finish(call, ns, bucket, hk_count_is_outermost(call), hk_work_is_end(call));
}

/* A message at level record. */
static inline __attribute__((always_inline)) struct hk_result
leave_message(struct hk_call *call, uint64_t ns, uint64_t *bucket)
{
	struct hk_thread *thread = call->thread;
	const struct hk_site_hot *site = call->site;
	const struct hk_comm *comm;
	uint64_t bytes, *room = begin_record(thread, call);
	if (unlikely(!room)) {
		return leave_unrecorded(call, ns, bucket);
	}
	if (unlikely(!hk_message_known(call, site->message, &comm, &bytes))) {
		thread->busy = 0;
		return leave_evaluated(call, ns, bucket);
	}
	hk_message_write(call, site->message, comm, bytes, room + HK_RECORD_HEADER_WORDS);
	end_record(thread, call, ns, room);
	count_sent(call, bytes);
	bool outermost = hk_count_is_outermost(call);
	return finish(call, ns, bucket, outermost,
		      outermost && (site->stack_words & HK_STACK_WORDS_WORK));
}

/* Returns whether the call around CALL is a recorded launch: a runtime calls the driver. */
static inline bool is_part(const struct hk_call *call)
{
	const struct hk_thread_slot *slot = call->thread->slot;
	const struct hk_site_hot *around =
	    call->depth ? hk_site_table_find(slot->open[(call->depth - 1) % HK_OPEN_CALLS].site)
			: NULL;
	return around && (around->flags & HK_HOT_RECORD) &&
	       around->hook->meaning == HK_MEANING_LAUNCH;
}

/* A launch at level record, inside no other call unless it is PART of a launch. No work between MPI
 * calls ends with it. */
static inline __attribute__((always_inline)) struct hk_result
record_launch(struct hk_call *call, uint64_t ns, uint64_t *bucket, bool part)
{
	struct hk_thread *thread = call->thread;
	uint64_t *room = begin_record(thread, call);
	if (unlikely(!room)) {
		if (!is_dry(call)) {
			return leave_evaluated(call, ns, bucket);
		}
		count_lost(thread, call); /* a launch has no bytes to be counted */
		return finish(call, ns, bucket, hk_count_is_outermost(call), false);
	}
	if (unlikely(!hk_launch_values(call, &call->site->message->launch, part,
				       room + HK_RECORD_HEADER_WORDS))) {
		thread->busy = 0;
		return leave_evaluated(call, ns, bucket);
	}
	end_record(thread, call, ns, room);
	return finish(call, ns, bucket, hk_count_is_outermost(call), false);
}

/* A launch within another call. */
static __attribute__((noinline)) struct hk_result leave_part(struct hk_call *call, uint64_t ns,
							     uint64_t *bucket)
{
	return is_part(call) ? record_launch(call, ns, bucket, true)
			     : leave_evaluated(call, ns, bucket);
}

static __attribute__((noinline)) struct hk_result leave_launch(struct hk_call *call, uint64_t ns,
							       uint64_t *bucket)
{
	return likely(call->inner == ~0ULL) ? record_launch(call, ns, bucket, false)
					    : leave_part(call, ns, bucket);
}

/* The short way of a call whose values are not plain, or whose result may say that it failed. Like
 * hk_call_leave it calls nothing but at its end. */
struct hk_result hk_call_leave_described(struct hk_call *call, uint64_t ns, uint64_t *bucket)
{
	const struct hk_site_hot *site = call->site;
	uint8_t flags = __atomic_load_n(&site->flags, __ATOMIC_RELAXED);
	if (likely(site->message && (flags & HK_HOT_RECORD) && !(uint32_t)call->result)) {
		return unlikely(site->message->is_launch) ? leave_launch(call, ns, bucket)
							  : leave_message(call, ns, bucket);
	}
	return leave_evaluated(call, ns, bucket);
}

static inline bool is_described(uint8_t flags)
{
	return (flags & (HK_HOT_UNUSUAL | HK_HOT_QUICK | HK_HOT_LAZY)) ==
	       (HK_HOT_UNUSUAL | HK_HOT_QUICK);
}

/* The short way: no new octave, extreme or error, nothing to ask MPI. It checks before it writes
 * and calls nothing, so that the compiler needs no register saved. */
struct hk_result hk_call_leave(struct hk_call *call, uint64_t end_ticks)
{
	struct hk_thread *thread = call->thread;
	const struct hk_site_hot *site = call->site;
	struct hk_cell *cell = call->cell;
	call->scratch = end_ticks;
	if (unlikely(thread != hk_thread_current || !thread->ready)) {
		return leave_unready(call, end_ticks);
	}
	/* The upper half of one multiplication. If the clock went back, the result is huge, and the
	 * call takes the long way. */
	uint64_t scaled = (end_ticks - call->start_ticks) << HK_CLOCK_TICK_SHIFT;
	uint64_t ns = (uint64_t)(((unsigned __int128)scaled * thread->tick_ns_scaled) >> 64);
	/* hk_histogram_index in two steps, so that the octave is known first */
	uint32_t shift = 58u - (uint32_t)__builtin_clzll(ns | HK_OCTAVE_BUCKETS);
	uint32_t offset = cell->octave[(shift + (ns >= HK_OCTAVE_BUCKETS)) % HK_OCTAVES_FAST];
	uint32_t bucket = (uint32_t)(ns >> shift) % HK_OCTAVE_BUCKETS;
	uint8_t flags = __atomic_load_n(&site->flags, __ATOMIC_RELAXED);
	if (unlikely(!offset || ns > cell->max_ns || ns < cell->min_ns || thread->busy ||
		     !is_innermost(thread, call) || ns >= HK_DURATION_ESCAPE)) {
		return leave_slowly(call, ns);
	}
	if (flags & (HK_HOT_UNUSUAL | HK_HOT_NULL)) {
		if (is_described(flags)) {
			return hk_call_leave_described(call, ns,
						       hk_count_bucket(thread, offset, bucket));
		}
		if ((flags & HK_HOT_UNUSUAL) || !call->result) {
			return leave_slowly(call, ns);
		}
	}
	hk_count_totals(thread, call, ns, hk_count_is_outermost(call));
	hk_count_add(hk_count_bucket(thread, offset, bucket), 1);
	if (likely(flags & HK_HOT_RECORD)) {
		record_usual(thread, call, ns);
	}
	restore(thread, call, ns);
	return result_of(call);
}
