#include "agent/call/elsewhere.h"

#include <errno.h>

#include "agent/call/measure.h"
#include "agent/call/thread_start.h"
#include "agent/frame/hot.h"
#include "agent/frame/state.h"
#include "agent/record/process.h"
#include "base/clock.h"

/* Removes CALL from the open calls of the thread on which it began, which may be running. The next
 * call of that thread checks its open calls, as after a new generation of the collector. */
static void forget(const struct hk_call *call)
{
	uint64_t frame = (uint64_t)&call->caller_frame;
	uint64_t mine = frame << 28 | hk_hot_number(call->site); /* as trampoline.S writes it */
	struct hk_thread *from = call->thread;
	for (uint32_t at = 0; at < HK_OPEN_CALLS; at++) {
		uint64_t *word = (uint64_t *)(void *)&from->slot->open[at], seen = mine;
		if (__atomic_compare_exchange_n(word, &seen, HK_OPEN_UNKNOWN, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			uint32_t never = atomic_load(from->generation) - 1;
			__atomic_store_n(&from->generation_seen, never, __ATOMIC_RELAXED);
			return;
		}
	}
}

/* Moves CALL to the open calls of the thread on which it returned. */
static int adopt(void *returned, void *unused)
{
	(void)unused;
	struct hk_call *call = returned;
	uint64_t signals = hk_process_block_signals();
	hk_in_agent = 1;
	int saved_errno = errno;
	struct hk_thread *thread = hk_thread_current->ready ? hk_thread_current : hk_thread_enter();
	uint32_t site = call->site->index;
	if (thread && !thread->cells[site]) {
		thread->cells[site] = hk_thread_cell(thread, hk_hot_number(call->site));
	}
	bool ready = thread && thread->cells[site];
	if (ready) {
		call->thread = thread;
		call->cell = thread->cells[site];
		call->depth = thread->depth;
		call->inner = thread->inner;
	}
	errno = saved_errno;
	hk_in_agent = 0;
	hk_process_restore_signals(signals);
	return ready;
}

void hk_call_leave_elsewhere(struct hk_call *call, uint64_t end_ticks)
{
	if (!call->thread->ready) {
		return; /* the thread ended, or was forked: the call was given up */
	}
	forget(call);
	if (!hk_state_may_save() || !hk_state_saved(adopt, call, NULL) ||
	    call->site->level == HK_LEVEL_COUNT) {
		return;
	}
	struct hk_thread *thread = call->thread;
	uint64_t ticks = end_ticks - call->start_ticks, child_ns = thread->child_ns;
	uint64_t ns = hk_clock_ticks_to_ns(ticks, hk_process.tick_ns_q32);
	thread->child_ns = 0; /* its callees ran partly there and partly here */
	hk_call_measure(thread, call, ns > HK_CALL_ABSURD_NS ? 0 : ns);
	thread->child_ns = child_ns;
}
