#include "agent/device/clock.h"

#include "agent/record/process.h"
#include "base/clock.h"

#define TRIES 5
/* Pairs closer than this say less about the rate than that a clock counts nanoseconds. */
#define SPACING_NS 20000000u

/* Returns the pair whose reading took the shortest of some tries. */
static struct hk_device_pair read_pair(uint64_t (*read)(void))
{
	struct hk_device_pair best = {0};
	uint64_t shortest = ~0ULL;
	for (int i = 0; i < TRIES; i++) {
		uint64_t from = hk_process_ticks(), theirs = read(), to = hk_process_ticks();
		if (to - from < shortest) {
			shortest = to - from;
			best = (struct hk_device_pair){theirs, from + (to - from) / 2};
		}
	}
	return best;
}

void hk_device_clock_begin(struct hk_device_clock *clock, uint64_t (*read)(void), bool counts_ns)
{
	clock->counts_ns = counts_ns;
	clock->read = read;
	clock->before = clock->last = read_pair(read);
}

static uint64_t ns_between(const struct hk_device_pair *from, const struct hk_device_pair *to)
{
	return hk_clock_ticks_to_ns(to->ticks - from->ticks, hk_process.tick_ns_q32);
}

void hk_device_clock_pair(struct hk_device_clock *clock)
{
	struct hk_device_pair now = read_pair(clock->read);
	if (ns_between(&clock->before, &clock->last) < SPACING_NS) {
		clock->last = now;
	} else if (ns_between(&clock->last, &now) >= SPACING_NS) {
		clock->before = clock->last;
		clock->last = now;
	}
}

static double ticks_of_ns(void)
{
	return 4294967296.0 / (double)hk_process.tick_ns_q32;
}

/* Returns how many ticks one unit of theirs takes. */
static double rate_of(const struct hk_device_clock *clock)
{
	const struct hk_device_pair *before = &clock->before, *last = &clock->last;
	bool far = ns_between(before, last) >= SPACING_NS;
	if (last->theirs > before->theirs && (far || !clock->counts_ns)) {
		return (double)(last->ticks - before->ticks) /
		       (double)(last->theirs - before->theirs);
	}
	return ticks_of_ns();
}

uint64_t hk_device_clock_ns(const struct hk_device_clock *clock, uint64_t length)
{
	return clock->counts_ns ? length
				: (uint64_t)((double)length * rate_of(clock) / ticks_of_ns() + 0.5);
}

uint64_t hk_device_clock_ticks(const struct hk_device_clock *clock, uint64_t theirs)
{
	double ticks = (double)(int64_t)(theirs - clock->last.theirs) * rate_of(clock);
	return clock->last.ticks + (uint64_t)(int64_t)ticks;
}
