#include "agent/call/enter.h"

#include <errno.h>
#include <stdatomic.h>

#include "agent/call/control.h"
#include "agent/call/launches.h"
#include "agent/call/open.h"
#include "agent/call/thread_start.h"
#include "agent/frame/call.h"
#include "agent/frame/hot.h"
#include "agent/frame/spare.h"
#include "agent/memory/arena.h"
#include "agent/patch/patch.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"

/* Returns the cell of plain site NUMBER, or NULL without memory. */
static struct hk_cell **plain_cell(struct hk_thread *thread, uint32_t plain)
{
	struct hk_cell ***page = &thread->plain_cells[plain / HK_PLAIN_CELLS];
	if (!*page && !hk_process.sealed) {
		*page = hk_arena_take(HK_PLAIN_CELLS * sizeof(**page));
	}
	return *page ? &(*page)[plain % HK_PLAIN_CELLS] : NULL;
}

struct hk_cell *hk_call_make_cell(struct hk_thread *thread, const struct hk_site_hot *site)
{
	struct hk_cell **cell = site->index < HK_THUNKS
				    ? &thread->cells[site->index]
				    : plain_cell(thread, site->index - HK_PLAIN_FIRST);
	if (cell && !*cell) {
		*cell = hk_thread_cell(thread, hk_hot_number(site));
	}
	return cell ? *cell : NULL;
}

static bool prepare(struct hk_call *call, struct hk_site_hot *site)
{
	struct hk_thread *thread = hk_thread_current;
	bool first = !thread->ready;
	hk_process_go_on(thread);
	if (first) {
		thread = hk_thread_enter();
		if (!thread) {
			return false;
		}
	}
	uint64_t frame = (uint64_t)&call->caller_frame;
	uint32_t generation = atomic_load_explicit(thread->generation, memory_order_acquire);
	if (frame >= thread->inner || (thread->depth && generation != thread->generation_seen)) {
		/* Checked at times in any case, because calls may have ended on other threads. */
		hk_open_unwind_stale(thread, call);
		hk_patch_refresh_late(); /* for slots that these calls left to the loader */
	}
	if (first || generation != thread->generation_seen) {
		bool applied = hk_control_apply(generation);
		thread->generation_seen = applied ? generation : generation - 1;
		if (!applied) {
			return false; /* the next call tries again */
		}
	}
	return hk_call_make_cell(thread, site) != NULL;
}

/* Returns whether a call without a frame can be kept. A call nested too deeply is only counted. */
static bool has_room(const struct hk_call *call, const struct hk_site_hot *site)
{
	struct hk_thread *thread = hk_thread_current;
	bool room = hk_open_make_room(thread, (uint64_t)&call->caller_frame);
	if (!room) {
		thread->cells[site->index]->calls++; /* signals are blocked */
		thread->slot->calls_untimed++;
	}
	return room;
}

int hk_call_prepare(struct hk_call *call, struct hk_site_hot *site)
{
	if (!hk_process.on && !hk_process_forked()) {
		return 0; /* a child without a segment */
	}
	if (hk_in_agent == 2) {
		hk_open_end_query((uint64_t)&call->caller_frame);
	}
	if (hk_in_agent) {
		if (hk_in_agent == 1) {
			hk_process_untracked(); /* a signal handler interrupted the agent */
		}
		return 0;
	}
	struct hk_thread *thread = hk_thread_current;
	bool lacks = !thread->ready || !hk_call_cell(thread, site);
	if (lacks && hk_thread_refused() && !hk_process_forked()) {
		hk_process_untracked();
		return 0;
	}
	/* Signals are blocked: a handler that jumped out of here would leave the thread marked as
	 * inside the agent for ever. */
	uint64_t signals = hk_process_block_signals();
	hk_in_agent = 1;
	int saved_errno = errno;
	bool ready = prepare(call, site), room = true;
	if (ready && (site->stack_words & HK_STACK_WORDS_DEVICE)) {
		hk_launches_user->before(site);
	}
	if (!ready) {
		hk_process_untracked();
	} else if (site->stack_words & HK_STACK_WORDS_STAY) {
		room = has_room(call, site);
	}
	/* The site may have been switched off just now. */
	bool wanted = __atomic_load_n(&site->control, __ATOMIC_RELAXED) != HK_CONTROL_PASS;
	errno = saved_errno;
	hk_in_agent = 0;
	hk_process_restore_signals(signals);
	return ready && room && wanted;
}

/* ---- calls of spare thunks ---- */

/* Returns the calling thread's cell for spare thunk NUMBER, which is made if necessary, or NULL. */
static struct hk_cell *spare_cell(struct hk_thread *thread, uint64_t number)
{
	if (!thread->spare_cells && !hk_process.sealed) {
		thread->spare_cells = hk_arena_take(HK_SPARE_THUNKS * sizeof(struct hk_cell *));
	}
	if (!thread->spare_cells) {
		return NULL;
	}
	if (!thread->spare_cells[number]) {
		thread->spare_cells[number] =
		    hk_thread_cell(thread, hk_hot_number(&hk_spare_hot[number]));
	}
	return thread->spare_cells[number];
}

static bool count_spare(uint64_t number)
{
	struct hk_thread *thread = hk_thread_current;
	hk_process_go_on(thread);
	if (!thread->ready) {
		thread = hk_thread_enter();
		if (!thread) {
			return false;
		}
	}
	uint32_t generation = atomic_load_explicit(thread->generation, memory_order_acquire);
	if (generation != thread->generation_seen) {
		bool applied = hk_control_apply(generation);
		thread->generation_seen = applied ? generation : generation - 1;
	}
	uint8_t control = __atomic_load_n(&hk_spare_hot[number].control, __ATOMIC_RELAXED);
	if (control == HK_CONTROL_PASS) {
		return true;
	}
	struct hk_cell *cell = spare_cell(thread, number);
	if (cell) {
		/* A plain addition is enough: signals are blocked, and no other thread writes the
		 * cell. */
		__atomic_store_n(&cell->calls, cell->calls + 1, __ATOMIC_RELAXED);
	}
	return cell != NULL;
}

int hk_spare_count(void *number, void *unused)
{
	(void)unused;
	if (!hk_process.on && !hk_process_forked()) {
		return 0; /* a child without a segment */
	}
	if (hk_in_agent) {
		if (hk_in_agent == 1) {
			hk_process_untracked();
		}
		return 0;
	}
	uint64_t signals = hk_process_block_signals();
	hk_in_agent = 1;
	int saved_errno = errno;
	if (!count_spare((uintptr_t)number)) {
		hk_process_untracked();
	}
	errno = saved_errno;
	hk_in_agent = 0;
	hk_process_restore_signals(signals);
	return 0;
}

/* ---- calls of sites that are off ---- */

int hk_control_poll(void *unused, void *none)
{
	(void)unused;
	(void)none;
	if (hk_in_agent) {
		return 0;
	}
	uint64_t signals = hk_process_block_signals();
	hk_in_agent = 1;
	int saved_errno = errno;
	if (hk_process_forked()) {
		hk_thread_enter(); /* the levels of the parent's segment do not apply to the child
				    */
	}
	hk_control_apply(
	    atomic_load_explicit(&hk_process.writer.header->generation, memory_order_acquire));
	errno = saved_errno;
	hk_in_agent = 0;
	hk_process_restore_signals(signals);
	return 0;
}
