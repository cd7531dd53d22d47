#include "cli/steps/certain.h"

#define CLOCK_ERRORS 2	/* a change is larger than so many errors of the clocks */
#define FELT_SHARE 0.25 /* of a rank's change, and of a step: by how much steps change at least */
#define FELT_LEAST 0.02

static bool is_between(uint64_t time_ns, uint64_t from_ns, uint64_t to_ns)
{
	return time_ns >= from_ns && time_ns <= to_ns;
}

/* Whether all records of the time around the shift are there, at the same levels. */
static bool is_whole(const struct hk_steps *steps, const struct hk_report *report,
		     const struct hk_shift *shift)
{
	uint64_t from_ns = hk_steps_begin(steps, shift->leader, shift->from);
	uint64_t to_ns = hk_steps_begin(steps, shift->leader, shift->to);

	if (steps->elsewhere || steps->gap_count > HK_STEP_GAPS) {
		return false;
	}
	for (size_t i = 0; i < steps->gap_count; i++) {
		if (is_between(steps->gaps[i], from_ns, to_ns)) {
			return false;
		}
	}
	for (size_t i = 0; i < report->step_count; i++) {
		const struct hk_report_step *level = &report->steps[i];
		uint64_t time_ns = steps->origin_ns + (uint64_t)level->time_ns;
		if (!level->pinned && is_between(time_ns, from_ns, to_ns)) {
			return false;
		}
	}
	return true;
}

static bool exceeds_clocks(const struct hk_steps *steps, const struct hk_shift *shift)
{
	double more_ns = shift->after_ns - shift->before_ns;

	return more_ns > CLOCK_ERRORS * (double)steps->clock_error_ns;
}

/* Whether the job's steps took longer, too. A rank that had waited for others can have more work at
 * no cost. */
static bool is_felt(const struct hk_shift *shift)
{
	double step_ns = shift->step_after_ns - shift->step_before_ns;

	return step_ns >= FELT_SHARE * (shift->after_ns - shift->before_ns) &&
	       step_ns >= FELT_LEAST * shift->step_before_ns;
}

bool hk_shift_is_certain(const struct hk_steps *steps, const struct hk_report *report,
			 const struct hk_shift *shift)
{
	return is_whole(steps, report, shift) && exceeds_clocks(steps, shift) && is_felt(shift);
}
