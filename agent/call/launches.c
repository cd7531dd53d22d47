#include "agent/call/launches.h"

#include <stdbool.h>
#include <stddef.h>

#include "agent/call/count.h"
#include "agent/frame/plan.h"
#include "agent/frame/state.h"
#include "agent/memory/arena.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"

const struct hk_launches_user *hk_launches_user;
_Atomic uint64_t hk_launches_due = ~0ULL;

/* Of a site: no other call of the API is around this one. */
#define OUTERMOST 0x80000000u

/* Calls of a thread after which records are asked for, however short the time: the calls must still
 * be remembered when their records come. */
#define BURST (HK_LAUNCHES / 8)

static struct hk_launches *_Atomic all;

static int make(void *thread, void *unused)
{
	struct hk_launches *made = hk_arena_take(sizeof(*made));
	(void)unused;
	if (made) {
		made->next = atomic_load_explicit(&all, memory_order_relaxed);
		while (!atomic_compare_exchange_weak_explicit(
		    &all, &made->next, made, memory_order_release, memory_order_relaxed)) {
		}
		((struct hk_thread *)thread)->launches = made;
	}
	return made != NULL;
}

/* Returns the calls of THREAD, or NULL without memory. */
static struct hk_launches *launches_of(struct hk_thread *thread)
{
	if (!thread->launches && hk_state_may_save()) {
		hk_state_saved(make, thread, NULL);
	}
	return thread->launches;
}

static uint64_t stream_of(const struct hk_hook *hook, const uint64_t *values)
{
	for (uint32_t i = 0; values && i < hook->value_count; i++) {
		if (hook->values[i].key == HK_KEY_STREAM) {
			return values[i];
		}
	}
	return HK_LAUNCH_NO_STREAM;
}

/* Whether calls of HOOK ask a device for work: launches, copies, and what sets or fills memory. */
static bool submits(const struct hk_hook *hook)
{
	if (hook->meaning != HK_MEANING_NONE) {
		return hook->meaning == HK_MEANING_LAUNCH || hook->meaning == HK_MEANING_COPY ||
		       hook->meaning == HK_MEANING_COLLECTIVE;
	}
	for (uint32_t i = 0; i < hook->value_count; i++) {
		if (hook->values[i].key == HK_KEY_BYTES) {
			return true;
		}
	}
	return false;
}

static void add(const struct hk_thread *thread, const struct hk_call *call, const uint64_t *values,
		uint64_t end_ticks)
{
	struct hk_launches *launches = thread->launches;
	uint64_t count = atomic_load_explicit(&launches->count, memory_order_relaxed);
	struct hk_launch *launch = &launches->calls[count % HK_LAUNCHES];
	/* Counted before it is written: a reader then knows that the oldest may be changing. */
	atomic_store_explicit(&launches->count, count + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	uint32_t outermost = hk_count_is_outermost(call) ? OUTERMOST : 0;
	atomic_store_explicit(&launch->site, call->site->index | outermost, memory_order_relaxed);
	atomic_store_explicit(&launch->stream, stream_of(call->site->hook, values),
			      memory_order_relaxed);
	atomic_store_explicit(&launch->thread, thread->uid, memory_order_relaxed);
	atomic_store_explicit(&launch->tid, thread->tid, memory_order_relaxed);
	atomic_store_explicit(&launch->self, (uint32_t)(uintptr_t)__builtin_thread_pointer(),
			      memory_order_relaxed);
	atomic_store_explicit(&launch->start_ticks, call->start_ticks, memory_order_relaxed);
	atomic_store_explicit(&launch->end_ticks, end_ticks, memory_order_release);
	if (count % BURST == BURST - 1) {
		atomic_store_explicit(&hk_launches_due, 0, memory_order_relaxed);
	}
}

void hk_launches_end(struct hk_thread *thread, const struct hk_call *call, const uint64_t *values)
{
	const struct hk_hook *hook = call->site->hook;
	uint64_t now = hk_process_ticks();
	bool submitted = submits(hook);
	if (submitted && launches_of(thread)) {
		add(thread, call, values, now);
	}
	/* Never inside of another hooked call: see device/README.md. */
	if (call->inner == ~0ULL &&
	    now >= atomic_load_explicit(&hk_launches_due, memory_order_relaxed) &&
	    hk_state_may_save() && hk_state_has_bytes(HK_OBSERVER_STACK_BYTES)) {
		hk_state_saved(hk_launches_user->after, (void *)(uintptr_t)call, NULL);
	}
}

/* ---- looking ---- */

/* What a call was, at one moment. */
struct copy {
	uint64_t start, end, stream, thread;
	uint32_t tid, self, site;
};

/* Copies call NUMBER. Returns false if a newer one has, or may have, its place. */
static bool copy(const struct hk_launches *launches, uint64_t number, struct copy *ret_copy)
{
	const struct hk_launch *launch = &launches->calls[number % HK_LAUNCHES];
	ret_copy->end = atomic_load_explicit(&launch->end_ticks, memory_order_acquire);
	ret_copy->start = atomic_load_explicit(&launch->start_ticks, memory_order_relaxed);
	ret_copy->stream = atomic_load_explicit(&launch->stream, memory_order_relaxed);
	ret_copy->thread = atomic_load_explicit(&launch->thread, memory_order_relaxed);
	ret_copy->tid = atomic_load_explicit(&launch->tid, memory_order_relaxed);
	ret_copy->self = atomic_load_explicit(&launch->self, memory_order_relaxed);
	ret_copy->site = atomic_load_explicit(&launch->site, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&launches->count, memory_order_relaxed) <= number + HK_LAUNCHES;
}

/* Returns the first call from LOW on that ends at TICKS or later. Those around TICKS begin with it,
 * and one nested in another ends before it. */
static uint64_t first_end(const struct hk_launches *launches, uint64_t ticks, uint64_t low,
			  uint64_t high)
{
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		struct copy call;
		bool gone = !copy(launches, middle, &call);
		if (gone || call.end < ticks) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* A call within another one counts if it begins at TICKS or up to REACH later: the clocks differ by
 * more than such a call may take to begin. */
static bool find_in(const struct hk_launches *launches, uint32_t thread, uint64_t ticks,
		    uint64_t reach, struct hk_launch_found *ret_found)
{
	uint64_t count = atomic_load_explicit(&launches->count, memory_order_acquire);
	uint64_t oldest = count > HK_LAUNCHES ? count - HK_LAUNCHES : 0;
	bool whole = false;
	*ret_found = (struct hk_launch_found){.stream = HK_LAUNCH_NO_STREAM};
	for (uint64_t i = first_end(launches, ticks, oldest, count);
	     i < count && !whole && ret_found->count < 3; i++) {
		struct copy call;
		if (!copy(launches, i, &call) || (call.self != thread && call.tid != thread)) {
			break;
		}
		whole = call.site & OUTERMOST;
		if (call.start > ticks + (whole ? 0 : reach)) {
			if (whole) {
				return false;
			}
			continue; /* a later call within the same one */
		}
		ret_found->sites[ret_found->count++] = call.site & ~OUTERMOST;
		ret_found->thread = call.thread;
		if (ret_found->stream == HK_LAUNCH_NO_STREAM) {
			ret_found->stream = call.stream;
		}
	}
	return whole;
}

bool hk_launches_find(uint32_t thread, uint64_t ticks, uint64_t reach,
		      struct hk_launch_found *ret_found)
{
	const struct hk_launches *launches = atomic_load_explicit(&all, memory_order_acquire);
	for (; launches; launches = launches->next) {
		if (find_in(launches, thread, ticks, reach, ret_found)) {
			return true;
		}
	}
	return false;
}
