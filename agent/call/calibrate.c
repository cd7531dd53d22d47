#include "agent/call/calibrate.h"

#include "agent/frame/hot.h"
#include "agent/frame/plan.h"
#include "agent/record/process.h"
#include "base/clock.h"

#define CALLS 24u
#define BATCHES 4
#define WORK 60u /* dependent multiplications between two calls: more than 100 ns */

extern const char hk_thunks[]; /* trampoline.S */

static const struct hk_hook nothing = {.flags = HK_HOOK_DESCRIBED};
static const struct hk_hook undescribed = {.stack_words = HK_HOOK_STACK_UNKNOWN};
/* Like a message of MPI: three values in registers, one product, and a rule of errors. */
static const struct hk_hook message = {
    .flags = HK_HOOK_DESCRIBED,
    .error = HK_ERROR_NONZERO,
    .arg_count = 3,
    .args = {{.type = HK_TYPE_INT, .index = 0},
	     {.type = HK_TYPE_INT, .index = 1},
	     {.type = HK_TYPE_INT, .index = 2}},
    .value_count = 4,
    .values = {{HK_KEY_BYTES,
		2,
		{{.kind = HK_FACTOR_ARG, .arg = 0}, {.kind = HK_FACTOR_CONST, .constant = 4}}},
	       {HK_KEY_PEER, 1, {{.kind = HK_FACTOR_ARG, .arg = 0}}},
	       {HK_KEY_TAG, 1, {{.kind = HK_FACTOR_ARG, .arg = 1}}},
	       {HK_KEY_COUNT, 1, {{.kind = HK_FACTOR_ARG, .arg = 2}}}},
};
static struct hk_cell cell;

/* Returns 0, which is no error. */
static __attribute__((noinline)) int do_nothing(void)
{
	int zero = 0;
	__asm__ volatile("" : "+r"(zero));
	return zero;
}

/* The ns of CALLS / 2 calls each: in a row, and with work between them, which hides part of a
 * call's cost. */
struct batch {
	uint64_t row, spread;
};

static uint64_t ns_since(uint64_t start)
{
	return hk_clock_ticks_to_ns(hk_clock_ticks(hk_process.tsc) - start, hk_process.tick_ns_q32);
}

static uint64_t time_row(int (*function)(void))
{
	uint64_t start = hk_clock_ticks(hk_process.tsc);
	for (uint32_t i = 0; i < CALLS / 2; i++) {
		function();
	}
	return ns_since(start);
}

static uint64_t time_spread(int (*function)(void))
{
	uint64_t start = hk_clock_ticks(hk_process.tsc), work = start;
	for (uint32_t i = 0; i < CALLS / 2; i++) {
		function();
		for (uint32_t k = 0; k < WORK; k++) {
			work *= 0x9e3779b97f4a7c15ULL;
			__asm__ volatile("" : "+r"(work));
		}
	}
	return ns_since(start);
}

/* Returns the best of a few batches, because interrupts are no cost of tracing. */
static struct batch time_batch(int (*function)(void))
{
	struct batch best = {~0ULL, ~0ULL};
	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t row = time_row(function), spread = time_spread(function);
		best.row = row < best.row ? row : best.row;
		best.spread = spread < best.spread ? spread : best.spread;
	}
	return best;
}

static int (*thunk(void))(void)
{
	return (int (*)(void))(uintptr_t)(hk_thunks +
					  (uint64_t)HK_CALIBRATION_SITE * HK_THUNK_BYTES);
}

static uint64_t less(uint64_t ns, uint64_t plain_ns)
{
	return ns > plain_ns ? ns - plain_ns : 0;
}

/* Returns the picoseconds that the thunk adds to a call with the current HOT: the mean of calls in
 * a row and of calls with work between them. *RET_ROW_EXTRA_PS: what it adds more in a row. */
static uint64_t measure_rows(uint64_t *ret_row_extra_ps)
{
	struct batch hooked = time_batch(thunk()), plain = time_batch(do_nothing);
	uint64_t row = less(hooked.row, plain.row), spread = less(hooked.spread, plain.spread);
	*ret_row_extra_ps = less(row, spread) * 1000 / CALLS;
	return (row + spread) * 1000 / CALLS;
}

static uint64_t measure(void)
{
	uint64_t row_extra_ps;
	return measure_rows(&row_extra_ps);
}

/* Measures level time with the way out WAY_OUT. */
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

/* Measures level record with HOOK. The records go into a page outside the segment, so the collector
 * reads none of them. */
static uint64_t measure_record(struct hk_site_hot *hot, struct hk_thread *thread,
			       const struct hk_hook *hook, uint64_t *ret_row_extra_ps)
{
	static uint64_t page[HK_BLOCK_BYTES / sizeof(uint64_t)];
	struct hk_chain_end kept = thread->chain[HK_STREAM_CALLS];
	struct hk_chain unused = {0};
	thread->chain[HK_STREAM_CALLS] = (struct hk_chain_end){0};
	hk_chain_extend(&thread->chain[HK_STREAM_CALLS], &unused, (struct hk_page *)(void *)page,
			0);
	hot->level = HK_LEVEL_RECORD;
	hot->hook = hook;
	hk_plan_site(hot, HK_SITES_MAX - 1);
	uint64_t cost = measure_rows(ret_row_extra_ps);
	thread->chain[HK_STREAM_CALLS] = kept;
	return cost;
}

/* Measures a lost record: the records find no page, and a slot outside the segment counts them. The
 * nested stream is used, because usual records of other threads never check its pool. */
static uint64_t measure_lost(struct hk_site_hot *hot, struct hk_thread *thread)
{
	static struct hk_thread_slot aside;
	struct hk_thread_slot *slot = thread->slot;
	struct hk_chain_end kept = thread->chain[HK_STREAM_NESTED];
	uint64_t dry_until = hk_thread_dry_until[HK_STREAM_NESTED];
	thread->chain[HK_STREAM_NESTED] = (struct hk_chain_end){0};
	thread->slot = &aside;
	hk_thread_dry_until[HK_STREAM_NESTED] = INT64_MAX;
	hot->stream = HK_STREAM_NESTED;
	hot->hook = &nothing;
	hk_plan_site(hot, HK_SITES_MAX - 1);
	uint64_t cost = measure();
	hk_thread_dry_until[HK_STREAM_NESTED] = dry_until;
	thread->slot = slot;
	thread->chain[HK_STREAM_NESTED] = kept;
	return cost;
}

static uint32_t more_than(uint64_t cost_ps, uint64_t least_ps)
{
	uint64_t more = cost_ps > least_ps ? cost_ps - least_ps : 0;
	return more < UINT32_MAX ? (uint32_t)more : UINT32_MAX;
}

/* Measures the costs above level time, which is measured already. */
static void measure_records(struct hk_site_hot *hot, struct hk_thread *thread,
			    struct hk_segment_header *header)
{
	uint64_t row_extra, unused;
	uint64_t record = measure_record(hot, thread, &nothing, &row_extra);
	header->record_cost_ps = (uint32_t)record;
	header->row_extra_ps = more_than(row_extra, 0);
	header->value_extra_ps =
	    more_than(measure_record(hot, thread, &message, &unused), record) / message.value_count;
	hot->stack_words |= HK_STACK_WORDS_STAY;
	hot->control = HK_CONTROL_STAY;
	uint64_t stay = measure_record(hot, thread, &undescribed, &unused);
	header->copy_extra_ps = more_than(stay, record + header->ordered_extra_ps);
	hot->control = HK_CONTROL_FRAME;
	hot->stack_words &= (uint8_t)~HK_STACK_WORDS_STAY;
	header->lost_extra_ps = more_than(measure_lost(hot, thread), header->call_cost_ps);
}

void hk_calibrate(struct hk_thread *thread, uint32_t octave, struct hk_segment_header *header)
{
	struct hk_site_hot *hot = &hk_hot[HK_CALIBRATION_SITE];
	if (!octave) {
		return;
	}
	/* During the calibration the thread sees no new generation, because its calls would apply
	 * it. */
	static _Atomic uint32_t quiet;
	const _Atomic uint32_t *generation = thread->generation;
	atomic_store(&quiet, thread->generation_seen);
	thread->generation = &quiet;
	*hot = (struct hk_site_hot){.original = (void *)do_nothing,
				    .index = HK_CALIBRATION_SITE,
				    .level = HK_LEVEL_TIME,
				    .hook = &nothing};
	hk_plan_site(hot, HK_SITES_MAX - 1);
	for (uint32_t i = 0; i < HK_OCTAVES; i++) {
		cell.octave[i] = octave;
	}
	thread->cells[HK_CALIBRATION_SITE] = &cell;
	uint64_t unordered, ordered = 0;
	if (hk_process.tsc) {
		uint64_t in_order = measure_time(hot, HK_EXIT_ORDERED, &ordered);
		header->call_cost_ps = measure_time(hot, HK_EXIT_UNORDERED, &unordered);
		header->ordered_extra_ps = more_than(in_order, header->call_cost_ps);
	} else {
		hot->stack_words = HK_STACK_WORDS_CLOCK;
		header->call_cost_ps = measure_time(hot, HK_EXIT_BY_CALL, &unordered);
	}
	header->short_floor_ns = (uint32_t)(unordered & 0xffff) | (uint32_t)(ordered & 0xffff)
								      << 16;
	header->count_cost_ps = (uint32_t)measure_count(hot);
	measure_records(hot, thread, header);
	thread->generation = generation;
}
