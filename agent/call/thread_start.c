#include "agent/call/thread_start.h"

#include <pthread.h>
#include <stddef.h>

#include "agent/call/calibrate.h"
#include "agent/call/kept.h"
#include "agent/call/open.h"
#include "agent/frame/site_table.h"
#include "agent/frame/spare.h"
#include "agent/object/find.h"
#include "agent/patch/release.h"
#include "agent/record/process.h"
#include "agent/record/thread_pool.h"
#include "agent/stack/answer.h"
#include "base/clock.h"
#include "ring/kernel.h"

/* pthread_key destructors run in up to four rounds. The last one sees the calls of other
 * destructors. */
#define DESTRUCTOR_ROUNDS 4

static struct hk_thread *vacant; /* the process lock guards it */
static struct hk_thread *idle;	 /* the same, of the segment before */

/* Pthread functions of the host, looked up by name: linking them would require a newer libc than
 * some hosts have. */
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
	hk_thread_current = HK_NO_THREAD;
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
		return; /* the process forked meanwhile */
	}
	if (++thread->rounds < DESTRUCTOR_ROUNDS) {
		host.setspecific(host.key, thread);
		return;
	}
	hk_in_agent = 1;
	vacate(thread);
	hk_in_agent = 0;
}

/* The kernel has wiped all this already. An emulator may claim to and not do it. */
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

void hk_thread_setup(void)
{
	/* Looked up by name: a symbol that only glibc has would end a host of another libc. */
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

static void reset(struct hk_thread *thread)
{
	thread->depth = 0;
	thread->child_ns = 0;
	thread->domains = 0;
	thread->rounds = 0;
	thread->range_depth = 0;
	thread->busy = 0;
	thread->nested_busy = 0;
}

static void clear(struct hk_cell **cells, uint32_t count)
{
	for (uint32_t i = 0; cells && i < count; i++) {
		if (cells[i]) { /* pages that were never used stay unused */
			cells[i] = NULL;
		}
	}
}

static void clear_cells(struct hk_thread *thread)
{
	clear(thread->cells, HK_THUNKS);
	clear(thread->spare_cells, HK_SPARE_THUNKS);
	for (uint32_t i = 0; i < HK_PLAIN_SITES / HK_PLAIN_CELLS; i++) {
		clear(thread->plain_cells[i], HK_PLAIN_CELLS);
	}
}

/* Gives THREAD, which writes to no segment, a place in the open one. Returns false if that is full.
 */
static bool place(struct hk_thread *thread)
{
	thread->slot = hk_writer_thread(&hk_process.writer, &thread->slot_number);
	if (!thread->slot) {
		return false;
	}
	thread->segment = (char *)hk_process.writer.header;
	thread->generation = &hk_process.writer.header->generation;
	thread->generation_seen = atomic_load(thread->generation);
	thread->tick_ns_scaled = hk_process.tick_ns_q32 << (32 - HK_CLOCK_TICK_SHIFT);
	thread->work.long_ticks = (HK_WORK_LONG_NS << 32) / hk_process.tick_ns_q32;
	thread->kept = (char *)thread->kept_calls;
	thread->kept_end = thread->kept + sizeof(thread->kept_calls);
	return true;
}

/* Makes THREAD, whose calls have all returned, as if it had never made one. */
static bool renew(struct hk_thread *thread)
{
	clear_cells(thread);
	for (uint32_t stream = 0; stream < HK_STREAMS; stream++) {
		thread->chain[stream] = (struct hk_chain_end){0};
	}
	reset(thread);
	return place(thread);
}

/* Returns whether this thread has left all calls that it began before its segment was closed. */
static bool is_at_rest(const struct hk_thread *thread)
{
	return thread != HK_NO_THREAD && !thread->ready && !thread->depth && thread->kept &&
	       thread->kept == (const char *)thread->kept_calls && hk_thread_is_closed(thread) &&
	       thread->tid == (uint32_t)hk_kernel(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static struct hk_thread *new_thread(void)
{
	struct hk_thread *own = hk_thread_current;
	if (!hk_process.sealed && is_at_rest(own)) {
		return renew(own) ? own : NULL;
	}
	struct hk_thread *thread = idle;
	if (thread) {
		idle = thread->next_vacant;
		return renew(thread) ? thread : NULL;
	}
	thread = hk_thread_pool_take();
	if (!thread) {
		return NULL;
	}
	if (!place(thread)) {
		hk_thread_pool_return(thread);
		return NULL;
	}
	thread->next = hk_threads;
	atomic_store_explicit(&hk_threads, thread, memory_order_release);
	return thread;
}

/* Marks the chains of a reused slot, which belong to another thread from here on. */
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
			chain->end = chain->cursor; /* the next page has the mark */
		}
	}
}

static struct hk_thread *take_thread(void)
{
	struct hk_thread *thread = is_at_rest(hk_thread_current) ? NULL : vacant;
	if (thread) {
		vacant = thread->next_vacant;
		reset(thread);
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
		vacant = idle = NULL;
		hk_thread_forget_refusals();
		hk_process_renew();
		hk_answer_publish();
	}
	if (hk_process.on && !hk_process.used) {
		/* The segment is made now: most helpers of a job never make a hooked call and need
		 * one block only. */
		hk_process.used = true;
		hk_site_table_publish_all();
	}
	struct hk_thread *thread = hk_process.on ? take_thread() : NULL;
	hk_process_unlock();
	if (!hk_process.on) {
		hk_release_all();
	}
	if (!thread) {
		hk_thread_refuse();
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

/* Another thread may be in the midst of a call, and write any of these fields once more. No order
 * of these writes lets a later call pass: the cells are gone, the generation never matches, and
 * hk_thread_cell gives no new cell. So its next call finds that it is not ready. */
static void retire(struct hk_thread *thread)
{
	__atomic_store_n(&thread->generation, &hk_thread_closed, __ATOMIC_RELEASE);
	__atomic_store_n(&thread->countdown, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&thread->ready, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&thread->inner, 0, __ATOMIC_RELEASE);
	clear_cells(thread);
}

void hk_thread_retire_all(void)
{
	struct hk_thread *thread = atomic_load_explicit(&hk_threads, memory_order_acquire);
	for (; thread; thread = thread->next) {
		retire(thread);
	}
	while (vacant) {
		thread = vacant;
		vacant = thread->next_vacant;
		thread->next_vacant = idle;
		idle = thread;
	}
	hk_thread_forget_refusals();
}
