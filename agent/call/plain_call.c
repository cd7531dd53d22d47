#include "agent/call/plain_call.h"

#include <stdatomic.h>

#include "agent/call/append.h"
#include "agent/call/control.h"
#include "agent/call/count.h"
#include "agent/call/enter.h"
#include "agent/call/measure.h"
#include "agent/call/open.h"
#include "agent/frame/call.h"
#include "agent/frame/plain_site.h"
#include "agent/record/process.h"
#include "base/clock.h"

#define EXPORTED __attribute__((visibility("default")))
#define COUNTED (~0u) /* as a depth: the call is counted, and not timed */

/* Octaves of durations below the 32-bit escape: as a mask it keeps a look-up inside the table. */
#define OCTAVES_FAST 32u

/* Whether the clock is hk_clock_counter(), which calls no function. */
static inline bool has_counter(void)
{
	return likely(hk_process.tsc) && likely(!hk_process.timeless);
}

static inline uint64_t read_clock(void)
{
	return has_counter() ? hk_clock_counter() : hk_process_ticks();
}

static struct hk_open_call *entry(const struct hk_thread *thread, uint32_t depth)
{
	return &thread->slot->open[depth % HK_OPEN_CALLS];
}

static struct hk_cell *cell_of(const struct hk_thread *thread, const struct hk_plain_call *call)
{
	return (struct hk_cell *)(void *)(thread->segment + call->cell);
}

/* ---- begin ---- */

/* Whether SITE is off, after a new generation is applied, in which it may be on. */
static __attribute__((noinline)) bool is_off(const struct hk_site_hot *site)
{
	if (__atomic_load_n(&site->control, __ATOMIC_RELAXED) != HK_CONTROL_PASS) {
		return false;
	}
	if (hk_process.on && hk_process.writer.header->generation != hk_generation_seen) {
		hk_control_poll(NULL, NULL);
	}
	return __atomic_load_n(&site->control, __ATOMIC_RELAXED) == HK_CONTROL_PASS;
}

/* Returns whether the call is counted only, and counts it. At level sample one of many is timed. */
static __attribute__((noinline)) bool count_only(struct hk_thread *thread,
						 struct hk_plain_call *call,
						 struct hk_site_hot *site, struct hk_cell *cell)
{
	thread->countdown -= (int32_t)site->step;
	if (thread->countdown <= 0) {
		thread->turns += HK_SAMPLE_STEP;
		thread->countdown = (int32_t)(thread->turns >> HK_SAMPLE_SHIFT) + HK_SAMPLE_LEAST;
		return false;
	}
	hk_count_add(&cell->calls, 1);
	call->depth = COUNTED;
	call->site = site;
	call->cell = (uint32_t)((char *)cell - thread->segment);
	call->thread = thread;
	return true;
}

/* Makes a call of SITE at DEPTH, which began at TICKS, the thread's innermost open call. */
static inline void open_call(struct hk_thread *thread, const struct hk_site_hot *site,
			     uint32_t depth, uint64_t ticks)
{
	struct hk_open_call *open = entry(thread, depth);
	thread->depth = depth + 1;
	atomic_signal_fence(memory_order_seq_cst); /* calls of handlers have later entries */
	atomic_store_explicit(&open->site, hk_hot_number(site), memory_order_relaxed);
	open->frame = 0;
	atomic_store_explicit(&open->start_ticks, ticks, memory_order_relaxed);
	atomic_store_explicit(&thread->slot->depth, depth + 1, memory_order_relaxed);
}

/* The call began at TICKS. The clock is read before all this: a processor finishes what comes
 * before it reads the clock, and meanwhile begins what comes after. */
static inline __attribute__((always_inline)) void
start(struct hk_thread *thread, struct hk_plain_call *call, struct hk_site_hot *site,
      struct hk_cell *cell, uint64_t ticks, bool range)
{
	uint32_t depth = thread->depth;
	uint64_t domains = thread->domains;
	call->site = site;
	call->cell = (uint32_t)((char *)cell - thread->segment);
	call->depth = depth;
	call->start_ticks = ticks;
	call->child_ns = thread->child_ns;
	call->domains = domains;
	thread->child_ns = 0;
	thread->domains = domains | site->domain;
	if (!range) {
		open_call(thread, site, depth, ticks);
	}
	hk_count_add(&cell->calls, 1);
	call->thread = thread;
}

/* Whether the thread's state must be looked at before a call may begin. */
static inline bool is_stale(const struct hk_thread *thread)
{
	return !thread->ready || hk_in_agent ||
	       atomic_load_explicit(thread->generation, memory_order_acquire) !=
		   thread->generation_seen ||
	       (uint64_t)__builtin_frame_address(0) >= thread->inner;
}

/* Begins a call whose thread and cell are there, at any level and by any clock. */
static __attribute__((noinline)) void begin_at_level(struct hk_thread *thread,
						     struct hk_plain_call *call,
						     struct hk_site_hot *site, struct hk_cell *cell,
						     bool range)
{
	uint8_t control = __atomic_load_n(&site->control, __ATOMIC_RELAXED);
	if (control == HK_CONTROL_FRAME ||
	    (control != HK_CONTROL_PASS && !count_only(thread, call, site, cell))) {
		start(thread, call, site, cell, read_clock(), range);
	}
}

/* Makes what is missing, and begins the call if it is to be measured. */
static __attribute__((noinline)) void begin_first(struct hk_plain_call *call,
						  struct hk_site_hot *site, bool range)
{
	struct hk_call here;
	if (!is_off(site) && hk_call_prepare(&here, site)) {
		struct hk_thread *thread = hk_thread_current;
		begin_at_level(thread, call, site, hk_call_cell(thread, site), range);
	}
}

/* Begins a call of SITE at INDEX. The usual way calls no function, so that it saves no registers.
 */
static inline __attribute__((always_inline)) void
begin(struct hk_plain_call *call, struct hk_site_hot *site, uint32_t index, bool range)
{
	struct hk_thread *thread = hk_thread_current;
	struct hk_cell *cell = NULL;
	call->thread = NULL;
	if (unlikely(is_stale(thread) || !(cell = hk_call_plain_cell(thread, index)))) {
		begin_first(call, site, range);
	} else if (unlikely(__atomic_load_n(&site->control, __ATOMIC_RELAXED) != HK_CONTROL_FRAME ||
			    !has_counter())) {
		begin_at_level(thread, call, site, cell, range);
	} else {
		start(thread, call, site, cell, hk_clock_counter(), range);
	}
}

void hk_plain_call_begin_range(struct hk_plain_call *call, struct hk_site_hot *site)
{
	begin(call, site, site->index, true);
}

EXPORTED void hk_enter(struct hk_open *open, uint32_t index)
{
	struct hk_plain_call *call = (struct hk_plain_call *)(void *)open;
	struct hk_site_hot *site = hk_plain_site(index);
	if (likely(site)) {
		begin(call, site, index, false);
	} else {
		call->thread = NULL;
		hk_process_untracked();
	}
}

bool hk_plain_call_is_on(uint32_t index)
{
	struct hk_site_hot *site = hk_plain_site(index);
	if (!site || !hk_process.on) {
		return false;
	}
	if (hk_process.writer.header->generation != hk_generation_seen) {
		hk_control_poll(NULL, NULL);
	}
	return __atomic_load_n(&site->control, __ATOMIC_RELAXED) != HK_CONTROL_PASS;
}

/* ---- end ---- */

static inline void restore(struct hk_thread *thread, const struct hk_plain_call *call,
			   uint32_t depth, uint64_t ns, bool range)
{
	thread->child_ns = call->child_ns + ns;
	thread->domains = call->domains;
	if (range) {
		return;
	}
	thread->depth = depth;
	if (unlikely(depth >= HK_OPEN_CALLS)) {
		hk_open_unknown(entry(thread, depth)); /* an earlier call had it */
	}
	atomic_store_explicit(&thread->slot->depth, depth, memory_order_relaxed);
}

/* Whether the call is the thread's innermost open one. A deeper call may have had its entry. A
 * range has none: it is innermost if as many calls are open as when it began. */
static inline bool is_innermost(const struct hk_thread *thread, const struct hk_plain_call *call,
				bool range)
{
	if (range) {
		return thread->depth == call->depth;
	}
	uint64_t start =
	    atomic_load_explicit(&entry(thread, call->depth)->start_ticks, memory_order_relaxed);
	return thread->depth == call->depth + 1 && (start == call->start_ticks || start == ~0ULL);
}

static struct hk_call as_hooked(struct hk_thread *thread, const struct hk_plain_call *call)
{
	return (struct hk_call){.thread = thread,
				.cell = cell_of(thread, call),
				.site = call->site,
				.start_ticks = call->start_ticks,
				.domains = call->domains,
				.depth = call->depth};
}

/* Measures a call among others that began later and are still open: what it called is not known. */
static void measure_apart(struct hk_thread *thread, struct hk_call *call, uint64_t ns, bool failed)
{
	uint64_t child_ns = thread->child_ns;
	if (call->site->level != HK_LEVEL_COUNT) {
		thread->child_ns = 0;
		hk_call_measure_plain(thread, call, ns, failed);
		thread->child_ns = child_ns;
	}
}

static __attribute__((noinline)) void end_slowly(struct hk_thread *thread,
						 const struct hk_plain_call *call, uint64_t ns,
						 bool failed, bool range)
{
	struct hk_call as = as_hooked(thread, call);
	ns = ns > HK_CALL_ABSURD_NS ? 0 : ns;
	if (!is_innermost(thread, call, range) &&
	    (range || !hk_open_close_plain(thread, call->start_ticks, &as.depth))) {
		measure_apart(thread, &as, ns, failed);
		return;
	}
	if (as.site->level == HK_LEVEL_COUNT) {
		ns = thread->child_ns; /* since it began; its callees count as its caller's */
	} else {
		hk_call_measure_plain(thread, &as, ns, failed);
	}
	restore(thread, call, as.depth, ns, range);
}

/* Returns whether the record is lost without a search for a page, and counts it. */
static __attribute__((noinline)) bool is_lost(struct hk_thread *thread,
					      const struct hk_plain_call *call)
{
	bool dry = (int64_t)(call->start_ticks - hk_thread_dry_until[HK_STREAM_CALLS]) < 0;
	if (dry) {
		hk_count_add((uint64_t *)&thread->slot->chain[HK_STREAM_CALLS].lost, 1);
	}
	return dry;
}

/* Returns the place of a record without values, or NULL if the page has no room. Until it is
 * published, handlers write no records to the chain. */
static inline uint64_t *begin_record(struct hk_thread *thread, const struct hk_plain_call *call)
{
	const struct hk_chain_end *chain = &thread->chain[HK_STREAM_CALLS];
	thread->busy = call->depth + 1;
	atomic_signal_fence(memory_order_seq_cst);
	uint64_t *room = chain->cursor;
	if (unlikely(room + HK_RECORD_HEADER_WORDS > chain->end)) {
		thread->busy = 0;
		return NULL;
	}
	hk_append_fetch_ahead(room);
	return room;
}

static inline void record(struct hk_thread *thread, const struct hk_plain_call *call, uint64_t ns,
			  uint64_t *room)
{
	room[0] = call->start_ticks;
	room[1] = call->site->word1 | ns;
	hk_chain_publish(&thread->chain[HK_STREAM_CALLS], room + HK_RECORD_HEADER_WORDS);
	atomic_signal_fence(memory_order_seq_cst);
	thread->busy = 0;
}

static inline __attribute__((always_inline)) void end_timed(struct hk_thread *thread,
							    const struct hk_plain_call *call,
							    uint64_t end_ticks, bool failed,
							    bool range)
{
	const struct hk_site_hot *site = call->site;
	struct hk_cell *cell = cell_of(thread, call);
	/* As in hk_call_leave. */
	uint64_t scaled = (end_ticks - call->start_ticks) << HK_CLOCK_TICK_SHIFT;
	uint64_t ns = (uint64_t)(((unsigned __int128)scaled * thread->tick_ns_scaled) >> 64);
	uint32_t shift = 58u - (uint32_t)__builtin_clzll(ns | HK_OCTAVE_BUCKETS);
	uint32_t offset = cell->octave[(shift + (ns >= HK_OCTAVE_BUCKETS)) % OCTAVES_FAST];
	uint32_t bucket = (uint32_t)(ns >> shift) % HK_OCTAVE_BUCKETS;
	uint8_t flags = __atomic_load_n(&site->flags, __ATOMIC_RELAXED);
	uint64_t *room = NULL;
	if (unlikely(!offset || ns > cell->max_ns || ns < cell->min_ns || thread->busy || failed ||
		     (flags & HK_HOT_UNUSUAL) || ns >= HK_DURATION_ESCAPE ||
		     !is_innermost(thread, call, range) ||
		     ((flags & HK_HOT_RECORD) && !(room = begin_record(thread, call)) &&
		      !is_lost(thread, call)))) {
		end_slowly(thread, call, ns, failed, range);
		return;
	}
	if (likely(room)) {
		record(thread, call, ns, room);
	}
	uint64_t callees = thread->child_ns;
	hk_count_add(hk_count_bucket(thread, offset, bucket), 1);
	hk_count_add(&cell->total_ns, ns);
	hk_count_add(&cell->self_ns, ns > callees ? ns - callees : 0);
	if (call->domains & site->domain) {
		hk_count_add(&cell->inner_calls, 1);
	} else {
		hk_count_add(&cell->outermost_ns, ns);
	}
	restore(thread, call, call->depth, ns, range);
}

/* Ends a call that is not the current thread's, or whose segment was closed meanwhile. A thread is
 * at rest when it has left all calls that it began before. */
static __attribute__((noinline)) void end_closed(struct hk_thread *thread,
						 const struct hk_plain_call *call, bool range)
{
	if (thread == hk_thread_current && hk_thread_is_closed(thread) && !range &&
	    call->depth < thread->depth) {
		thread->depth = call->depth;
	}
}

/* The thread may have another segment than at the call's begin, and other cells. */
static __attribute__((noinline)) void count_error(const struct hk_thread *thread,
						  const struct hk_site_hot *site)
{
	struct hk_cell *cell = hk_call_cell(thread, site);
	if (cell) {
		hk_count_add(&cell->errors, 1);
	}
}

static inline __attribute__((always_inline)) void end(struct hk_plain_call *call, bool failed,
						      bool range)
{
	struct hk_thread *thread = call->thread;
	if (!thread) {
		return;
	}
	uint64_t end_ticks = call->depth == COUNTED ? 0 : read_clock();
	call->thread = NULL;
	/* Four cases: it is not this thread's, or began before a fork, so that the parent has it;
	 * the thread has ended; or the segment was closed. */
	if (unlikely(thread != hk_thread_current || !thread->ready)) {
		end_closed(thread, call, range);
		return;
	}
	if (call->depth != COUNTED) {
		end_timed(thread, call, end_ticks, failed, range);
	} else if (failed) {
		count_error(thread, call->site);
	}
}

void hk_plain_call_end_range(struct hk_plain_call *call)
{
	end(call, false, true);
}

void hk_plain_call_end_apart(struct hk_plain_call *call)
{
	struct hk_thread *thread = call->thread;
	call->thread = NULL;
	if (!thread || thread != hk_thread_current || !thread->ready || call->depth == COUNTED ||
	    hk_call_cell(thread, call->site) != cell_of(thread, call)) {
		return; /* as in end(); the thread may have another segment by now */
	}
	uint64_t ticks = read_clock() - call->start_ticks;
	uint64_t ns = hk_clock_ticks_to_ns(ticks, hk_process.tick_ns_q32);
	struct hk_call as = as_hooked(thread, call);
	measure_apart(thread, &as, ns > HK_CALL_ABSURD_NS ? 0 : ns, false);
}

EXPORTED void hk_leave(struct hk_open *open, int failed)
{
	end((struct hk_plain_call *)(void *)open, failed != 0, false);
}
