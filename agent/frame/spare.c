#include "agent/frame/spare.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "agent/call/control.h"
#include "agent/memory/arena.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"

static_assert(offsetof(struct hk_thread, spare_cells) == HK_THREAD_SPARE, "layout.h");
static_assert(HK_SPARE_FIRST == HK_SITES_TIMED, "what readers know of it");
static_assert(HK_SITES_BOUND <= HK_SITES_MAX, "records have no larger numbers");

struct hk_site_hot *hk_spare_hot;
extern const char hk_spare_thunks[]; /* trampoline_spare.S */

bool hk_spare_begin(void)
{
	if (!hk_spare_hot && !hk_process.sealed) {
		hk_spare_hot = hk_arena_take(HK_SPARE_THUNKS * sizeof(*hk_spare_hot));
	}
	return hk_spare_hot != NULL;
}

void *hk_spare_thunk(uint32_t index)
{
	uint64_t number = index - HK_SPARE_FIRST;
	return (void *)(uintptr_t)(hk_spare_thunks + number * HK_SPARE_THUNK_BYTES);
}

uint32_t hk_spare_site(const void *address)
{
	uintptr_t at = (uintptr_t)address - (uintptr_t)hk_spare_thunks;
	return at < (uintptr_t)HK_SPARE_THUNKS * HK_SPARE_THUNK_BYTES
		   ? HK_SPARE_FIRST + (uint32_t)(at / HK_SPARE_THUNK_BYTES)
		   : HK_SITES_BOUND;
}

/* The calling thread's cell for spare thunk NUMBER, made if need be, or NULL. */
static struct hk_cell *cell_of(struct hk_thread *thread, uint64_t number)
{
	if (!thread->spare_cells && !hk_process.sealed) {
		thread->spare_cells = hk_arena_take(HK_SPARE_THUNKS * sizeof(struct hk_cell *));
	}
	if (!thread->spare_cells) {
		return NULL;
	}
	if (!thread->spare_cells[number]) {
		thread->spare_cells[number] =
		    hk_thread_cell(thread, HK_SPARE_FIRST + (uint32_t)number);
	}
	return thread->spare_cells[number];
}

static bool count(uint64_t number)
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
		bool heeded = hk_control_heed(generation);
		thread->generation_seen = heeded ? generation : generation - 1;
	}
	uint8_t control = __atomic_load_n(&hk_spare_hot[number].control, __ATOMIC_RELAXED);
	if (control == HK_CONTROL_PASS) {
		return true;
	}
	struct hk_cell *cell = cell_of(thread, number);
	if (cell) {
		/* Signals are blocked, and it is this thread's alone. */
		__atomic_store_n(&cell->calls, cell->calls + 1, __ATOMIC_RELAXED);
	}
	return cell != NULL;
}

int hk_spare_count(void *number, void *unused)
{
	(void)unused;
	if (!hk_process.on && !hk_process_forked()) {
		return 0; /* a child that got no segment */
	}
	if (hk_inside) {
		if (hk_inside == 1) {
			hk_process_untracked();
		}
		return 0;
	}
	uint64_t signals = hk_process_block_signals();
	hk_inside = 1;
	int saved_errno = errno;
	if (!count((uintptr_t)number)) {
		hk_process_untracked();
	}
	errno = saved_errno;
	hk_inside = 0;
	hk_process_restore_signals(signals);
	return 0;
}
