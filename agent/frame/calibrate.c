#include "frame/calibrate.h"

#include "base/clock.h"
#include "frame/hot.h"
#include "frame/values.h"
#include "record/process.h"

#define CALLS 64u
#define BATCHES 5

extern const char hk_thunks[]; /* trampoline.S */

static const struct hk_hook nothing = {.flags = HK_HOOK_DESCRIBED};
static struct hk_cell cell;

static __attribute__((noinline)) void do_nothing(void)
{
	__asm__ volatile("");
}

/* Nanoseconds of CALLS calls, the best of a few batches: an interrupt is no cost of
 * ours. */
static uint64_t time_batch(void (*function)(void))
{
	uint64_t best = ~0ULL;
	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t start = hk_clock_ticks(hk_process.tsc);
		for (uint32_t i = 0; i < CALLS; i++) {
			function();
			__asm__ volatile("");
		}
		uint64_t ticks = hk_clock_ticks(hk_process.tsc) - start;
		best = ticks < best ? ticks : best;
	}
	return hk_clock_ticks_to_ns(best, hk_process.tick_ns_q32);
}

static void (*thunk(void))(void)
{
	return (void (*)(void))(uintptr_t)(hk_thunks +
					   (uint64_t)HK_CALIBRATION_SITE * HK_THUNK_BYTES);
}

/* Picoseconds that the thunk adds to one call as HOT is now. */
static uint64_t measure(void)
{
	uint64_t hooked = time_batch(thunk()), plain = time_batch(do_nothing);
	return hooked > plain ? (hooked - plain) * 1000 / CALLS : 0;
}

/* At level time, by the way out WAY_OUT. */
static uint64_t measure_time(struct hk_site_hot *hot, uint8_t way_out, uint64_t *ret_floor_ns)
{
	hot->exit = way_out;
	cell.min_ns = ~0ULL;
	uint64_t cost = measure();
	*ret_floor_ns = cell.min_ns;
	return cost;
}

static uint64_t measure_count(struct hk_site_hot *hot)
{
	hot->control = HK_CONTROL_LIGHT;
	uint64_t cost = measure();
	hot->control = HK_CONTROL_FRAME;
	return cost;
}

/* Into a page that is nobody's: what the collector reads has none of these. */
static uint64_t measure_record(struct hk_site_hot *hot, struct hk_thread *thread)
{
	static uint64_t page[HK_BLOCK_BYTES / sizeof(uint64_t)];
	struct hk_chain_end kept = thread->chain[HK_STREAM_CALLS];
	struct hk_chain unused = {0};
	thread->chain[HK_STREAM_CALLS] = (struct hk_chain_end){0};
	hk_chain_extend(&thread->chain[HK_STREAM_CALLS], &unused, (struct hk_page *)(void *)page,
			0);
	hot->level = HK_LEVEL_RECORD;
	hk_values_prepare(hot);
	uint64_t cost = measure();
	thread->chain[HK_STREAM_CALLS] = kept;
	return cost;
}

void hk_calibrate(struct hk_thread *thread, uint32_t octave, struct hk_segment_header *header)
{
	struct hk_site_hot *hot = &hk_hot[HK_CALIBRATION_SITE];
	if (!octave) {
		return;
	}
	/* Meanwhile the thread hears of no new levels: its calls would go to look for them. */
	static _Atomic uint32_t quiet;
	const _Atomic uint32_t *generation = thread->generation;
	atomic_store(&quiet, thread->generation_seen);
	thread->generation = &quiet;
	*hot = (struct hk_site_hot){.original = (void *)do_nothing,
				    .index = HK_CALIBRATION_SITE,
				    .level = HK_LEVEL_TIME,
				    .hook = &nothing};
	hk_values_prepare(hot);
	for (uint32_t i = 0; i < HK_OCTAVES; i++) {
		cell.octave[i] = octave;
	}
	thread->cells[HK_CALIBRATION_SITE] = &cell;
	uint64_t unordered, ordered = 0;
	if (hk_process.tsc) {
		measure_time(hot, HK_EXIT_ORDERED, &ordered);
		header->call_cost_ps = measure_time(hot, HK_EXIT_UNORDERED, &unordered);
	} else {
		hot->stack_words = HK_STACK_WORDS_CLOCK;
		header->call_cost_ps = measure_time(hot, HK_EXIT_BY_CALL, &unordered);
	}
	header->short_floor_ns = (uint32_t)(unordered & 0xffff) | (uint32_t)(ordered & 0xffff)
								      << 16;
	header->count_cost_ps = (uint32_t)measure_count(hot);
	header->record_cost_ps = (uint32_t)measure_record(hot, thread);
	thread->generation = generation;
}
