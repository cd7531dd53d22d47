#include "frame/calibrate.h"

#include "base/clock.h"
#include "frame/hot.h"
#include "record/process.h"

#define CALLS 64
#define BATCHES 5

extern const char hk_thunks[]; /* trampoline.S */
void hk_call_exit(void);
void hk_call_exit_ordered(void);

static const struct hk_hook nothing = {.flags = HK_HOOK_DESCRIBED};
static struct hk_cell cell;

static __attribute__((noinline)) void do_nothing(void)
{
	__asm__ volatile("");
}

/* Nanoseconds of CALLS calls of the thunk, the best of a few batches: an interrupt is no cost of
 * ours. */
static uint64_t time_batch(void (*function)(void))
{
	uint64_t best = ~0ULL;
	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t start = hk_clock_ticks(hk_process.tsc);
		for (int i = 0; i < CALLS; i++) {
			function();
			__asm__ volatile("");
		}
		uint64_t ticks = hk_clock_ticks(hk_process.tsc) - start;
		best = ticks < best ? ticks : best;
	}
	return hk_clock_ticks_to_ns(best, hk_process.tick_ns_q32);
}

static uint64_t measure(struct hk_site_hot *hot, void (*way_out)(void), uint64_t *ret_floor_ns)
{
	void (*thunk)(void) =
	    (void (*)(void))(uintptr_t)(hk_thunks + (uint64_t)HK_CALIBRATION_SITE * HK_THUNK_BYTES);
	hot->exit = way_out;
	cell.min_ns = ~0ULL;
	uint64_t hooked = time_batch(thunk), plain = time_batch(do_nothing);
	*ret_floor_ns = cell.min_ns;
	return hooked > plain ? hooked - plain : 0;
}

void hk_calibrate(struct hk_thread *thread, uint32_t octave, struct hk_segment_header *header)
{
	struct hk_site_hot *hot = &hk_hot[HK_CALIBRATION_SITE];
	if (!hk_process.tsc || !octave) {
		return;
	}
	*hot = (struct hk_site_hot){
	    .original = (void *)do_nothing, .index = HK_CALIBRATION_SITE, .hook = &nothing};
	for (uint32_t i = 0; i < HK_OCTAVES; i++) {
		cell.octave[i] = octave;
	}
	thread->cells[HK_CALIBRATION_SITE] = &cell;
	uint64_t unordered, ordered;
	uint64_t cost = measure(hot, hk_call_exit, &unordered);
	measure(hot, hk_call_exit_ordered, &ordered);
	header->call_cost_ps = cost * 1000 / CALLS;
	header->short_floor_ns = (uint32_t)(unordered & 0xffff) | (uint32_t)(ordered & 0xffff)
								      << 16;
}
