#include "cli/compare/flow/follow.h"

#include "cli/compare/flow/background.h"

struct follow {
	const struct hk_comparison *comparison;
	const struct hk_judge *judge;
	struct hk_rank_pair *pair;
	size_t number; /* of the pair */
	struct hk_background background;
};

/* Whether CALL of this pair comes after the first divergence, which may be on another rank. */
static bool is_later(const struct follow *follow, size_t call)
{
	const struct hk_first *first = &follow->comparison->first;

	if (first->kind == HK_FIRST_NONE) {
		return false;
	}
	if (first->pair == follow->number) {
		return call > first->call;
	}
	const struct hk_calls *calls = &follow->comparison->pairs[first->pair].a_calls;
	return follow->pair->a_calls.list[call].step >= calls->list[first->call].step;
}

static void row_follow(struct follow *follow, uint32_t index, enum hk_match_why why)
{
	struct hk_match *match = &follow->pair->matches[index];

	match->level = HK_MATCH_FOLLOWS;
	match->why = why;
}

/* Whether the row that saw the memory of row INDEX last is off, or has no row of B. */
static bool source_is_off(const struct follow *follow, uint32_t index)
{
	uint32_t source = follow->judge->sources[index];

	if (source == UINT32_MAX) {
		return false;
	}
	const struct hk_match *match = &follow->pair->matches[source];
	return match->level >= HK_MATCH_FOLLOWS || match->b == HK_MATCH_NONE;
}

static void input_follow(struct follow *follow, size_t call, uint32_t index)
{
	if (source_is_off(follow, index)) {
		row_follow(follow, index, HK_WHY_INPUTS);
	} else if (is_later(follow, call)) {
		row_follow(follow, index, HK_WHY_LATER);
	} else if (hk_background_explains(&follow->background, follow->judge, index)) {
		row_follow(follow, index, HK_WHY_ROUNDING);
	}
}

static bool is_off(const struct hk_rank_pair *pair, uint32_t match)
{
	return match != HK_MATCH_NONE && pair->matches[match].level >= HK_MATCH_FOLLOWS;
}

/* Whether output INDEX of CALL is the tensor that another call made: an operator within a module
 * returns what the module returns. */
static bool is_handed_on(const struct follow *follow, const struct hk_call *call, uint32_t index)
{
	uint32_t source = follow->judge->sources[index];
	struct hk_dump_row row, made;

	if (source == UINT32_MAX || !is_off(follow->pair, source)) {
		return false;
	}
	follow->pair->a->ops->row(follow->pair->a, index, &row);
	follow->pair->a->ops->row(follow->pair->a, source, &made);
	return made.sequence != call->sequence && made.statistics.digest == row.statistics.digest;
}

static void output_follow(struct follow *follow, size_t number, const struct hk_judged *judged,
			  uint32_t index)
{
	const struct hk_call *call = &follow->pair->a_calls.list[number];

	if (is_off(follow->pair, judged->worst_input) || is_handed_on(follow, call, index)) {
		row_follow(follow, index, HK_WHY_INPUTS);
	} else if (!judged->inputs_equal && !judged->exact &&
		   hk_background_explains_output(&follow->background, follow->judge, judged,
						 index)) {
		row_follow(follow, index, HK_WHY_ROUNDING);
	} else if (!judged->inputs_equal && is_later(follow, number)) {
		row_follow(follow, index, HK_WHY_LATER);
	}
}

static bool is_first(const struct follow *follow, uint32_t index)
{
	const struct hk_first *first = &follow->comparison->first;

	return first->kind != HK_FIRST_NONE && first->pair == follow->number &&
	       first->match == index;
}

/* Inputs first: what they follow decides what the outputs follow. */
static void call_follow(struct follow *follow, size_t number)
{
	const struct hk_call *call = &follow->pair->a_calls.list[number];
	struct hk_judged judged;

	for (int outputs = 0; outputs < 2; outputs++) {
		if (outputs) {
			hk_judge_call(follow->judge, call, &judged);
		}
		for (uint32_t i = 0; i < call->count; i++) {
			uint32_t index = follow->pair->a_calls.rows[call->first + i];
			struct hk_dump_row row;
			follow->pair->a->ops->row(follow->pair->a, index, &row);
			bool output =
			    call->kind != HK_DUMP_STATE && hk_judge_is_output(call, row.role);
			if (output != outputs || is_first(follow, index) ||
			    follow->pair->matches[index].level != HK_MATCH_DIFFERS) {
				continue;
			}
			if (outputs) {
				output_follow(follow, number, &judged, index);
			} else {
				input_follow(follow, number, index);
			}
		}
	}
	hk_background_take(&follow->background, follow->judge, call);
}

static bool differs(const struct follow *follow, const struct hk_call *call)
{
	for (uint32_t i = 0; i < call->count; i++) {
		uint32_t index = follow->pair->a_calls.rows[call->first + i];
		if (follow->pair->matches[index].level == HK_MATCH_DIFFERS) {
			return true;
		}
	}
	return false;
}

void hk_follow(struct hk_comparison *comparison, const struct hk_judge *judges)
{
	for (size_t i = 0; i < comparison->pair_count; i++) {
		struct follow follow = {.comparison = comparison,
					.judge = &judges[i],
					.pair = &comparison->pairs[i],
					.number = i};
		for (size_t j = 0; j < follow.pair->a_calls.count; j++) {
			const struct hk_call *call = &follow.pair->a_calls.list[j];
			if (call->twin != HK_CALL_NONE && differs(&follow, call)) {
				call_follow(&follow, j);
			} else {
				hk_background_take(&follow.background, follow.judge, call);
			}
		}
	}
}
