#include "agent/frame/limit.h"

#include <stdatomic.h>

#include "agent/memory/arena.h"
#include "agent/record/layout.h"
#include "agent/record/process.h"

#define SECOND_Q32 (1000000000ull << 32)
#define TRIES 4u

/* Each stack moves `full_at` one step ahead. It never lies more than a second ahead of the calls,
 * which is the time that all of the site's stacks of one second take. */
struct limit {
	_Atomic uint64_t full_at; /* ticks at which the limit is whole again */
	_Atomic uint32_t rate;	  /* stacks a second; 0: no limit */
};

/* One for each site. NULL: no site ever had a limit. */
static struct limit *_Atomic limits;

void hk_limit_set(uint32_t site, uint32_t rate)
{
	struct limit *list = atomic_load_explicit(&limits, memory_order_relaxed);

	if (!list && rate > 0) {
		/* Without memory for it there is no limit. */
		list = hk_arena_take(HK_THUNKS * sizeof(*list));
		atomic_store_explicit(&limits, list, memory_order_release);
	}
	if (list && site < HK_THUNKS) {
		atomic_store_explicit(&list[site].rate, rate, memory_order_relaxed);
	}
}

bool hk_limit_take(uint32_t site, uint64_t ticks)
{
	struct limit *list = atomic_load_explicit(&limits, memory_order_acquire);
	uint32_t rate = list ? atomic_load_explicit(&list[site].rate, memory_order_relaxed) : 0;

	if (rate == 0) {
		return true;
	}
	struct limit *limit = &list[site];
	uint64_t second = SECOND_Q32 / hk_process.tick_ns_q32, step = second / rate;
	uint64_t full_at = atomic_load_explicit(&limit->full_at, memory_order_relaxed);
	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t ahead = full_at - ticks;
		/* The limit was whole before the call, or the clock is another one now. */
		ahead = ahead > second ? 0 : ahead;
		if (ahead > second - step) {
			return false;
		}
		if (atomic_compare_exchange_weak_explicit(
			&limit->full_at, &full_at, ticks + ahead + step, memory_order_relaxed,
			memory_order_relaxed)) {
			return true;
		}
	}
	return false; /* other threads are keeping stacks at this very moment */
}
