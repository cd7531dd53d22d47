#include "agent/call/kept.h"

#include <stddef.h>

#include "agent/record/thread.h"

static_assert(sizeof(struct hk_call) == HK_KEPT_BYTES, "layout.h");
static_assert(offsetof(struct hk_call, caller_frame) - HK_KEPT_BYTES == (size_t)HK_KEPT_FRAME,
	      "layout.h");
static_assert(offsetof(struct hk_thread, kept_calls) ==
		  offsetof(struct hk_thread, kept_none) - HK_KEPT_FRAME,
	      "the word before the first entry is no frame");

extern const char hk_places[]; /* trampoline_stay.S */

bool hk_kept_is_return_place(uint64_t address)
{
	return address - (uint64_t)hk_places < (uint64_t)HK_CALLERS * HK_PLACE_BYTES;
}

static struct hk_call *newest(const struct hk_thread *thread)
{
	return (struct hk_call *)(void *)thread->kept - 1;
}

static struct hk_call *oldest(struct hk_thread *thread)
{
	return (struct hk_call *)(void *)thread->kept_calls;
}

static uint64_t frame_of(const struct hk_call *entry)
{
	return __atomic_load_n(&entry->caller_frame, __ATOMIC_ACQUIRE);
}

/* Claims ENTRY. Returns false if another thread was faster. */
static bool claim(struct hk_call *entry, uint64_t frame)
{
	return __atomic_compare_exchange_n(&entry->caller_frame, &frame, 0, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static void copy(struct hk_call *to, const struct hk_call *from)
{
	for (size_t i = 0; i < sizeof(to->integer) / sizeof(to->integer[0]); i++) {
		to->integer[i] = from->integer[i];
	}
	to->thread = from->thread;
	to->cell = from->cell;
	to->site = from->site;
	to->start_ticks = from->start_ticks;
	to->child_ns = from->child_ns;
	to->domains = from->domains;
	to->inner = from->inner;
	to->depth = from->depth;
}

static struct hk_call *find(struct hk_thread *thread, uint64_t frame)
{
	for (struct hk_call *entry = newest(thread); entry >= oldest(thread); entry--) {
		if (frame_of(entry) == frame) {
			return entry;
		}
	}
	return NULL;
}

static bool take(struct hk_call *call, struct hk_call *entry)
{
	uint64_t frame = (uint64_t)&call->caller_frame;
	if (!entry) {
		return false;
	}
	copy(call, entry);
	return claim(entry, frame);
}

/* Frees the room of ENTRY, unless later entries are in use. Free entries before it stay: a signal
 * may have interrupted the call that is about to write one. */
static void release(struct hk_thread *thread, struct hk_call *entry)
{
	struct hk_call *last = newest(thread);
	while (last > entry && !frame_of(last)) {
		last--;
	}
	if (last == entry) {
		thread->kept = (char *)entry;
	}
}

bool hk_kept_take(struct hk_call *call)
{
	uint64_t frame = (uint64_t)&call->caller_frame;
	struct hk_thread *own = hk_thread_current;
	struct hk_call *entry = own->ready ? find(own, frame) : NULL;
	if (take(call, entry)) {
		release(own, entry);
		return true;
	}
	struct hk_thread *thread = atomic_load_explicit(&hk_threads, memory_order_acquire);
	for (; thread; thread = thread->next) {
		entry = find(thread, frame);
		if (take(call, entry)) {
			if (thread == own) {
				release(own, entry);
			}
			return true;
		}
	}
	return false;
}

bool hk_kept_make_room(struct hk_thread *thread,
		       enum hk_kept_fate (*fate)(const void *view, uint64_t frame),
		       const void *view)
{
	for (enum hk_kept_fate drop = HK_KEPT_LEFT; drop > HK_KEPT_OPEN; drop--) {
		struct hk_call *to = oldest(thread), *middle = to + HK_KEPT_CALLS / 2;
		for (struct hk_call *from = to; from <= newest(thread); from++) {
			uint64_t frame = frame_of(from);
			bool drops = drop == HK_KEPT_LEFT || from < middle;
			if (!frame || (drops && fate(view, frame) == drop) || !claim(from, frame)) {
				from->caller_frame = 0;
				continue;
			}
			copy(to, from);
			__atomic_store_n(&to->caller_frame, frame, __ATOMIC_RELEASE);
			to++;
		}
		thread->kept = (char *)to;
		if (thread->kept != thread->kept_end) {
			return true;
		}
	}
	return false;
}

void hk_kept_forget(struct hk_thread *thread)
{
	for (struct hk_call *entry = oldest(thread); entry <= newest(thread); entry++) {
		entry->caller_frame = 0;
	}
	thread->kept = (char *)oldest(thread);
}
