#include "agent/record/thread.h"

#include <pthread.h>
#include <stddef.h>

#include "agent/call/calibrate.h"
#include "agent/call/kept.h"
#include "agent/call/open.h"
#include "agent/frame/hot.h"
#include "agent/frame/site.h"
#include "agent/object/find.h"
#include "agent/patch/release.h"
#include "agent/record/process.h"
#include "agent/record/thread_pool.h"
#include "base/clock.h"
#include "ring/kernel.h"

/* pthread_key destructors run up to four rounds; the last one sees what other destructors still
 * call. */
#define DESTRUCTOR_ROUNDS 4
#define EMPTY_NS 200000u /* between two looks at an empty pool of pages */

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

/* Stands where a thread has no state yet: never ready, so that no call needs a test for NULL. Only
 * what a fork wipes of a thread is looked at before it is known to be ready. */
static uint64_t no_thread[HK_THREAD_WIPED / sizeof(uint64_t)];
#define NO_THREAD ((struct hk_thread *)(void *)no_thread)
__thread struct hk_thread *hk_thread_current __attribute__((tls_model("initial-exec"))) = NO_THREAD;

struct hk_thread *_Atomic hk_threads;

static struct hk_thread *vacant; /* guarded by the process lock */

/* A pool was found empty: until this many ticks no thread looks again. 0: there may be a page. */
static _Atomic uint64_t empty_until[HK_POOLS];
static _Atomic uint64_t refused_until; /* state of threads and cells */
uint64_t hk_thread_dry_until[HK_STREAMS];

/* The host's pthread functions, looked up: linking them would ask for a newer libc than some hosts
 * have. */
static struct {
	int (*key_create)(uint32_t *, void (*)(void *));
	int (*setspecific)(uint32_t, const void *);
	uint32_t key;
	bool usable;
} host;

static void vacate(struct hk_thread *thread)
{
	hk_open_end(thread);
	thread->countdown = 0;
	thread->ready = 0;
	hk_thread_current = NO_THREAD;
	if (!hk_process_lock()) {
		return;
	}
	atomic_store_explicit(&thread->slot->depth, 0, memory_order_relaxed);
	atomic_store_explicit(&thread->slot->state, HK_SLOT_VACANT, memory_order_release);
	thread->next_vacant = vacant;
	vacant = thread;
	hk_process_unlock();
}

static void thread_ends(void *value)
{
	struct hk_thread *thread = value;
	if (hk_thread_current != thread || !thread->ready) {
		return; /* forked meanwhile */
	}
	if (++thread->rounds < DESTRUCTOR_ROUNDS) {
		host.setspecific(host.key, thread);
		return;
	}
	hk_inside = 1;
	vacate(thread);
	hk_inside = 0;
}

/* The kernel has wiped all this already; an emulator may say that it does and not do it. */
static void after_fork(void)
{
	hk_process_wipe();
	if (hk_thread_current->ready) {
		hk_thread_current->countdown = 0;
		hk_thread_current->ready = 0;
		hk_thread_current->inner = 0;
		hk_thread_current->generation_seen = 0;
	}
}

void hk_thread_may_end(int code)
{
	struct hk_thread *thread = hk_thread_current;
	hk_process_may_end(code, thread);
	thread->generation_seen--; /* its next call, if there is one, is looked at */
}

void hk_thread_setup(void)
{
	/* By name: a symbol that only glibc has would end a host of another libc. */
	int (*at_fork)(void (*)(void), void (*)(void), void (*)(void), void *);
	*(void **)&at_fork = hk_find_function("*", "__register_atfork");
	if (at_fork) {
		at_fork(NULL, NULL, after_fork, NULL);
	}
	*(void **)&host.key_create = hk_find_function("*", "pthread_key_create");
	*(void **)&host.setspecific = hk_find_function("*", "pthread_setspecific");
	host.usable =
	    host.key_create && host.setspecific && host.key_create(&host.key, thread_ends) == 0;
}

static struct hk_thread *new_thread(void)
{
	struct hk_thread *thread = hk_thread_pool_take();
	if (!thread) {
		return NULL;
	}
	thread->slot = hk_writer_thread(&hk_process.writer, &thread->slot_number);
	if (!thread->slot) {
		hk_thread_pool_return(thread);
		return NULL;
	}
	thread->segment = (char *)hk_process.writer.header;
	thread->generation = &hk_process.writer.header->generation;
	thread->generation_seen = atomic_load(thread->generation);
	thread->tick_ns_scaled = hk_process.tick_ns_q32 << (32 - HK_CLOCK_TICK_SHIFT);
	thread->work.long_ticks = (HK_WORK_LONG_NS << 32) / hk_process.tick_ns_q32;
	thread->kept = (char *)thread->kept_calls;
	thread->kept_end = thread->kept + sizeof(thread->kept_calls);
	thread->next = hk_threads;
	atomic_store_explicit(&hk_threads, thread, memory_order_release);
	return thread;
}

/* Tells readers that the chains of a slot taken over belong to another thread from here on. */
static void announce(struct hk_thread *thread)
{
	for (uint32_t stream = 0; stream < HK_STREAMS; stream++) {
		struct hk_chain_end *chain = &thread->chain[stream];
		uint64_t *room = chain->page ? hk_chain_room(chain, 4) : NULL;
		if (room) {
			room[0] = 0;
			room[1] = hk_record_word1(0, 0, HK_RECORD_THREAD, 2);
			room[2] = thread->uid;
			room[3] = thread->tid;
			hk_chain_publish(chain, room + 4);
		} else if (chain->page) {
			chain->end = chain->cursor; /* the next page will say so */
		}
	}
}

static struct hk_thread *take_thread(void)
{
	struct hk_thread *thread = vacant;
	if (thread) {
		vacant = thread->next_vacant;
		thread->depth = 0;
		thread->child_ns = 0;
		thread->domains = 0;
		thread->rounds = 0;
		thread->range_depth = 0;
		thread->busy = 0;
		thread->nested_busy = 0;
	} else {
		thread = new_thread();
	}
	if (!thread) {
		return NULL;
	}
	hk_kept_forget(thread);
	thread->work.from_ticks = ~0ULL;
	thread->work.settle_ticks = 0;
	thread->inner = ~0ULL;
	thread->uid = ++hk_process.uids;
	thread->tid = hk_process.sealed ? hk_process.writer.header->pid
					: (uint32_t)hk_kernel(SYS_gettid, 0, 0, 0, 0, 0, 0);
	announce(thread);
	atomic_store_explicit(&thread->slot->tid, thread->tid, memory_order_relaxed);
	atomic_store_explicit(&thread->slot->uid, thread->uid, memory_order_relaxed);
	atomic_store_explicit(&thread->slot->state, HK_SLOT_LIVE, memory_order_release);
	atomic_store_explicit(&hk_process.writer.header->threads_started, thread->uid,
			      memory_order_relaxed);
	return thread;
}

static uint64_t next_look(void)
{
	/* A clock that stands still would never end the wait. */
	return hk_process.timeless
		   ? 0
		   : hk_process_ticks() + ((uint64_t)EMPTY_NS << 32) / hk_process.tick_ns_q32;
}

bool hk_thread_refused(void)
{
	uint64_t until = atomic_load_explicit(&refused_until, memory_order_relaxed);
	return until && (int64_t)(hk_process_ticks() - until) < 0;
}

static void calibrate(struct hk_thread *thread)
{
	if (!hk_process_lock()) {
		return;
	}
	uint32_t octave = hk_writer_octave(&hk_process.writer);
	hk_process_unlock();
	hk_calibrate(thread, octave, hk_process.writer.header);
}

struct hk_thread *hk_thread_enter(void)
{
	if (!hk_process.on || !hk_process_lock()) {
		return NULL;
	}
	if (hk_process_forked()) {
		vacant = NULL;
		empty_until[0] = empty_until[1] = 0;
		refused_until = 0;
		hk_thread_dry_until[0] = hk_thread_dry_until[1] = hk_thread_dry_until[2] = 0;
		hk_process_renew();
	}
	if (hk_process.on && !hk_process.used) {
		/* Most helpers of a job never make a hooked call: they cost one block. */
		hk_process.used = true;
		hk_site_publish_all();
	}
	struct hk_thread *thread = hk_process.on ? take_thread() : NULL;
	hk_process_unlock();
	if (!hk_process.on) {
		hk_release_all();
	}
	if (!thread) {
		refused_until = next_look();
		return NULL;
	}
	hk_thread_current = thread;
	if (host.usable) {
		host.setspecific(host.key, thread);
	}
	thread->countdown = 1;
	thread->ready = 1;
	if (thread->uid == 1 && !hk_process.timeless) {
		calibrate(thread);
	}
	return thread;
}

/* Also false where a handler forked: what is free in the parent's segment is the parent's to take.
 */
static bool lock_own_segment(void)
{
	return !hk_process_forked() && hk_process_lock();
}

struct hk_cell *hk_thread_cell(struct hk_thread *thread, uint32_t site)
{
	if (!lock_own_segment()) {
		return NULL;
	}
	struct hk_cell *cell = hk_writer_cell(&hk_process.writer);
	hk_process_unlock();
	if (cell) {
		cell->slot = thread->slot_number;
		__atomic_store_n(&cell->site, site + 1, __ATOMIC_RELEASE);
	} else {
		refused_until = next_look();
	}
	return cell;
}

uint32_t hk_thread_octave(struct hk_cell *cell, uint32_t octave)
{
	if (!lock_own_segment()) {
		return 0;
	}
	uint32_t offset = hk_writer_octave(&hk_process.writer);
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

/* No page is free, or PAGE was: until when each thread knows. */
static void note_page(uint32_t stream, const struct hk_page *page)
{
	uint64_t until = page ? 0 : next_look();
	atomic_store_explicit(empty_until_of(stream), until, memory_order_relaxed);
	for (uint32_t i = 0; i < HK_STREAMS; i++) {
		if (empty_until_of(i) == empty_until_of(stream)) {
			/* Where calls wait for a page none may pass by. */
			__atomic_store_n(&hk_thread_dry_until[i], hk_process.wait_ns ? 0 : until,
					 __ATOMIC_RELAXED);
		}
	}
}

/* While a pool is empty one thread looks now and then: a look by every call would make each wait
 * for the lock and a walk through the pool. */
static bool may_take(uint32_t stream)
{
	_Atomic uint64_t *looked = empty_until_of(stream);
	uint64_t until = atomic_load_explicit(looked, memory_order_relaxed);
	return !until || ((int64_t)(hk_process_ticks() - until) >= 0 &&
			  atomic_compare_exchange_strong(looked, &until, next_look()));
}

static struct hk_page *take_page(struct hk_thread *thread, uint32_t stream)
{
	if (!lock_own_segment()) {
		return NULL;
	}
	struct hk_page *page =
	    hk_writer_page(&hk_process.writer, thread->slot_number, stream,
			   hk_chain_position(&thread->chain[stream]), thread->uid, thread->tid);
	note_page(stream, page);
	hk_process_unlock();
	return page;
}

/* A handler that jumped out of here would leave the process locked. */
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

/* Back-pressure, where the user prefers it to loss and a collector is there to end it. */
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
