#include "agent/frame/limit.h"

#include <stdatomic.h>

#include "agent/record/layout.h"
#include "agent/record/process.h"

#define SECOND_Q32 (1000000000ull << 32)
#define TRIES 4u

/* Each stack moves `full_at` one step ahead. It never lies more than a second ahead of the calls,
 * which is the time that all of the site's stacks of one second take. */
static struct limit {
	_Atomic uint64_t full_at; /* ticks at which the limit is whole again */
	_Atomic uint32_t rate;	  /* stacks a second; 0: no limit */
} limits[HK_THUNKS];

void hk_limit_set(uint32_t site, uint32_t rate)
{
	if (site < HK_THUNKS) {
		atomic_store_explicit(&limits[site].rate, rate, memory_order_relaxed);
	}
}

bool hk_limit_take(uint32_t site, uint64_t ticks)
{
	struct limit *limit = &limits[site];
	uint32_t rate = atomic_load_explicit(&limit->rate, memory_order_relaxed);

	if (rate == 0) {
		return true;
	}
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
