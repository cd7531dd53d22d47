#include "agent/record/thread.h"

#include <stddef.h>

#include "agent/record/process.h"
#include "base/clock.h"
#include "ring/kernel.h"

#define EMPTY_NS 200000u /* ns between two checks of an empty pool of pages */

static_assert(offsetof(struct hk_thread, ready) == HK_THREAD_READY, "layout.h");
static_assert(offsetof(struct hk_thread, depth) == HK_THREAD_DEPTH, "layout.h");
static_assert(offsetof(struct hk_thread, kept) == HK_THREAD_KEPT, "layout.h");
static_assert(offsetof(struct hk_thread, kept_end) == HK_THREAD_KEPT_END, "layout.h");
static_assert(offsetof(struct hk_thread, crowded) == HK_THREAD_CROWDED, "layout.h");
static_assert(offsetof(struct hk_thread, long_from) == HK_THREAD_LONG_FROM, "layout.h");
static_assert(offsetof(struct hk_thread, busy) == HK_THREAD_BUSY, "layout.h");
static_assert(HK_THREAD_BUSY == HK_THREAD_READY + 4, "read as one word");
static_assert(offsetof(struct hk_thread, segment) == HK_THREAD_SEGMENT, "layout.h");
static_assert(offsetof(struct hk_thread, tick_ns_scaled) == HK_THREAD_TICK_NS, "layout.h");
static_assert(offsetof(struct hk_thread, turns) == HK_THREAD_TURNS, "layout.h");
static_assert(offsetof(struct hk_thread, chain) == HK_THREAD_CHAIN, "layout.h");
static_assert(offsetof(struct hk_thread, cells) == HK_THREAD_CELLS, "layout.h");
static_assert(offsetof(struct hk_thread, inner) == HK_THREAD_INNER, "layout.h");
static_assert(offsetof(struct hk_thread, child_ns) == HK_THREAD_CHILD, "layout.h");
static_assert(offsetof(struct hk_thread, apart) == HK_THREAD_WIPED, "layout.h");
static_assert(offsetof(struct hk_thread, domains) == HK_THREAD_DOMAINS, "layout.h");
static_assert(offsetof(struct hk_thread, slot) == HK_THREAD_SLOT, "layout.h");
static_assert(offsetof(struct hk_thread, generation) == HK_THREAD_GENERATION, "layout.h");
static_assert(offsetof(struct hk_thread, generation_seen) == HK_THREAD_SEEN, "layout.h");
static_assert(offsetof(struct hk_thread, countdown) == HK_THREAD_COUNTDOWN, "layout.h");
static_assert(offsetof(struct hk_thread_slot, depth) == HK_SLOT_DEPTH, "layout.h");
static_assert(offsetof(struct hk_thread_slot, open) == HK_SLOT_OPEN, "layout.h");
static_assert(offsetof(struct hk_thread_slot, chain[0].lost) == HK_SLOT_LOST, "layout.h");
static_assert(offsetof(struct hk_thread_slot, calls_untimed) == HK_SLOT_UNTIMED, "layout.h");
static_assert(sizeof(struct hk_chain) == 24, "trampoline.S");
static_assert(sizeof(struct hk_open_call) == 16, "layout.h");

uint64_t hk_thread_none[HK_THREAD_WIPED / sizeof(uint64_t)];
__thread struct hk_thread *hk_thread_current __attribute__((tls_model("initial-exec"))) =
    HK_NO_THREAD;

struct hk_thread *_Atomic hk_threads;
const _Atomic uint32_t hk_thread_closed = ~0u;

/* Ticks until which no thread checks a pool again that was found empty. 0: it may have a page. */
static _Atomic uint64_t empty_until[HK_POOLS];
static _Atomic uint64_t refused_until; /* the same for states of threads and cells */
uint64_t hk_thread_dry_until[HK_STREAMS];

void hk_thread_may_end(int code)
{
	struct hk_thread *thread = hk_thread_current;
	hk_process_may_end(code, thread);
	thread->generation_seen--; /* its next call checks the open calls */
}

static uint64_t next_check_at(void)
{
	/* Without a clock the wait would never end. */
	return hk_process.timeless
		   ? 0
		   : hk_process_ticks() + ((uint64_t)EMPTY_NS << 32) / hk_process.tick_ns_q32;
}

bool hk_thread_refused(void)
{
	uint64_t until = atomic_load_explicit(&refused_until, memory_order_relaxed);
	return until && (int64_t)(hk_process_ticks() - until) < 0;
}

void hk_thread_refuse(void)
{
	refused_until = next_check_at();
}

void hk_thread_forget_refusals(void)
{
	empty_until[0] = empty_until[1] = 0;
	refused_until = 0;
	hk_thread_dry_until[0] = hk_thread_dry_until[1] = hk_thread_dry_until[2] = 0;
}

/* Returns whether the process's own segment was locked. It is not in a child that a signal handler
 * forked: free pages of the parent's segment belong to the parent. */
static bool lock_own_segment(void)
{
	return !hk_process_forked() && hk_process_lock();
}

/* Returns whether THREAD writes to the segment that is open now. Under the process lock. */
static bool is_current(const struct hk_thread *thread)
{
	return hk_process.on && thread->segment == (const char *)hk_process.writer.header;
}

struct hk_cell *hk_thread_cell(struct hk_thread *thread, uint32_t site)
{
	if (!lock_own_segment()) {
		return NULL;
	}
	bool current = is_current(thread);
	struct hk_cell *cell = current ? hk_writer_cell(&hk_process.writer) : NULL;
	hk_process_unlock();
	if (!current) {
		return NULL;
	}
	if (cell) {
		cell->slot = thread->slot_number;
		__atomic_store_n(&cell->site, site + 1, __ATOMIC_RELEASE);
	} else {
		hk_thread_refuse();
	}
	return cell;
}

uint32_t hk_thread_octave(struct hk_cell *cell, uint32_t octave)
{
	if (!lock_own_segment()) {
		return 0;
	}
	bool current = hk_process.on && hk_writer_holds(&hk_process.writer, cell);
	uint32_t offset = current ? hk_writer_octave(&hk_process.writer) : 0;
	hk_process_unlock();
	if (offset) {
		__atomic_store_n(&cell->octave[octave], offset, __ATOMIC_RELEASE);
	}
	return offset;
}

static _Atomic uint64_t *empty_until_of(uint32_t stream)
{
	return &empty_until[stream == HK_STREAM_MEMORY];
}

/* Notes for all threads whether the pool had a free page. */
static void note_page(uint32_t stream, const struct hk_page *page)
{
	uint64_t until = page ? 0 : next_check_at();
	atomic_store_explicit(empty_until_of(stream), until, memory_order_relaxed);
	for (uint32_t i = 0; i < HK_STREAMS; i++) {
		if (empty_until_of(i) == empty_until_of(stream)) {
			/* If calls wait for pages, no call may skip the check. */
			__atomic_store_n(&hk_thread_dry_until[i], hk_process.wait_ns ? 0 : until,
					 __ATOMIC_RELAXED);
		}
	}
}

/* Returns whether the pool may be checked now. While a pool is empty, one thread at a time checks
 * it now and then. A check by every call would wait for the lock and walk the pool. */
static bool may_take(uint32_t stream)
{
	_Atomic uint64_t *looked = empty_until_of(stream);
	uint64_t until = atomic_load_explicit(looked, memory_order_relaxed);
	return !until || ((int64_t)(hk_process_ticks() - until) >= 0 &&
			  atomic_compare_exchange_strong(looked, &until, next_check_at()));
}

static struct hk_page *take_page(struct hk_thread *thread, uint32_t stream)
{
	if (!lock_own_segment()) {
		return NULL;
	}
	struct hk_page *page = NULL;
	if (is_current(thread)) {
		page = hk_writer_page(&hk_process.writer, thread->slot_number, stream,
				      hk_chain_position(&thread->chain[stream]), thread->uid,
				      thread->tid);
		note_page(stream, page);
	}
	hk_process_unlock();
	return page;
}

/* Signals are blocked: a handler that jumped out of here would leave the process locked. */
static bool try_extend(struct hk_thread *thread, uint32_t stream)
{
	uint64_t signals = hk_process_block_signals();
	struct hk_page *page = take_page(thread, stream);
	if (page) {
		hk_chain_extend(&thread->chain[stream], &thread->slot->chain[stream], page,
				hk_writer_block_of(&hk_process.writer, page));
	}
	hk_process_restore_signals(signals);
	return page != NULL;
}

/* Waits for a page, if the user prefers that to loss and a collector is attached. */
static bool await_page(struct hk_thread *thread, uint32_t stream)
{
	const struct timespec pause = {.tv_nsec = 200000};
	uint64_t end_ns = hk_clock_monotonic_ns() + hk_process.wait_ns;
	bool extended = false;
	while (!extended && !hk_process.sealed && hk_process.writer.header->attached &&
	       hk_clock_monotonic_ns() < end_ns) {
		hk_kernel(SYS_nanosleep, &pause, 0, 0, 0, 0, 0);
		extended = try_extend(thread, stream);
	}
	return extended;
}

bool hk_thread_extend(struct hk_thread *thread, uint32_t stream)
{
	return (may_take(stream) && try_extend(thread, stream)) ||
	       (hk_process.wait_ns && await_page(thread, stream));
}
