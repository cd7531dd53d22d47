#include "cli/compare/background.h"

#include <math.h>

static void error_take(double *largest, double error)
{
	*largest = error > *largest ? error : *largest;
}

static void outputs_take(struct hk_background *background, const struct hk_judge *judge,
			 const struct hk_call *call)
{
	struct hk_judged judged;

	hk_judge_call(judge, call, &judged);
	for (uint32_t i = 0; i < call->count; i++) {
		uint32_t index = judge->pair->a_calls.rows[call->first + i];
		const struct hk_match *match = &judge->pair->matches[index];
		struct hk_dump_row row;
		judge->pair->a->ops->row(judge->pair->a, index, &row);
		if (match->b != HK_MATCH_NONE && hk_judge_is_output(call, row.role)) {
			error_take(&background->scaled, hk_judge_error(judge, &judged, match));
		}
	}
}

void hk_background_take(struct hk_background *background, const struct hk_judge *judge,
			const struct hk_call *call)
{
	bool judges = false;

	for (uint32_t i = 0; i < call->count; i++) {
		uint32_t index = judge->pair->a_calls.rows[call->first + i];
		const struct hk_match *match = &judge->pair->matches[index];
		judges |= call->kind != HK_DUMP_STATE && match->error > background->scaled;
		error_take(&background->raw, match->error);
	}
	if (judges && call->twin != HK_CALL_NONE) {
		outputs_take(background, judge, call);
	}
}

static double unit_of(const struct hk_rank_pair *pair, const struct hk_match *match)
{
	struct hk_dump_row a, b;

	pair->a->ops->row(pair->a, match->a, &a);
	pair->b->ops->row(pair->b, match->b, &b);
	return fmax(hk_judge_unit(a.dtype), hk_judge_unit(b.dtype));
}

bool hk_background_explains(const struct hk_background *background, const struct hk_judge *judge,
			    uint32_t index)
{
	const struct hk_match *match = &judge->pair->matches[index];
	struct hk_dump_row row;

	judge->pair->a->ops->row(judge->pair->a, index, &row);
	/* The gradient of a parameter is a sum, which may cancel out. */
	bool sum = row.kind == HK_DUMP_STATE && row.phase != HK_DUMP_PARAMETER;
	double known = sum ? background->raw : background->scaled;
	return match->error <=
	       HK_BACKGROUND_AMPLIFICATION * fmax(known, 2 * unit_of(judge->pair, match));
}

bool hk_background_explains_output(const struct hk_background *background,
				   const struct hk_judge *judge, const struct hk_judged *judged,
				   uint32_t index)
{
	const struct hk_match *match = &judge->pair->matches[index];
	double known = fmax(judged->input_error, 2 * judged->unit);

	/* Statistics give lower bounds only, so the inputs may be as bad as anything before. */
	known = judged->guessed ? fmax(known, background->scaled) : known;
	return hk_judge_error(judge, judged, match) <= HK_BACKGROUND_AMPLIFICATION * known;
}
