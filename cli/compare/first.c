#include "cli/compare/first.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/background.h"

#define CALLS_CONVINCING 3u /* calls with equal results that let others be expected to be equal */

/* How calls whose inputs are the same bit by bit came out. */
struct evidence {
	size_t equal, broken;
};

struct finder {
	struct hk_comparison *comparison;
	struct evidence *of_name, all; /* by number of the name */
	bool seen_equal;	       /* some row of some rank is equal bit by bit */
};

/* The walk over one pair of ranks. */
struct walk {
	const struct finder *finder;
	const struct hk_judge *judge;
	struct hk_first found;
	struct hk_background background;
	bool clean; /* no row so far differs by a bit */
};

/* ---- evidence ---- */

static void evidence_take(struct finder *finder, const struct hk_judge *judge)
{
	for (size_t i = 0; i < judge->pair->a_calls.count; i++) {
		const struct hk_call *call = &judge->pair->a_calls.list[i];
		struct hk_judged judged;
		if (call->twin == HK_CALL_NONE || call->kind == HK_DUMP_STATE) {
			continue;
		}
		hk_judge_call(judge, call, &judged);
		if (judged.known && judged.inputs_equal) {
			struct evidence *one = &finder->of_name[call->name];
			one->equal += judged.outputs_equal;
			one->broken += judged.outputs_broken;
			finder->all.equal += judged.outputs_equal;
			finder->all.broken += judged.outputs_broken;
		}
	}
	for (size_t i = 0; !finder->seen_equal && i < judge->pair->count; i++) {
		const struct hk_match *match = &judge->pair->matches[i];
		finder->seen_equal = match->level == HK_MATCH_EQUAL && match->why == HK_WHY_NUMBERS;
	}
}

/* Whether CALL, whose inputs are equal bit by bit, has to have equal outputs: other calls of this
 * name have, or else all other calls have. */
static bool bits_expected(const struct finder *finder, const struct hk_call *call,
			  const struct hk_judged *judged)
{
	const struct evidence *one = &finder->of_name[call->name];

	if (one->equal > 0) {
		return one->broken <= one->equal;
	}
	return judged->alike && finder->all.equal >= CALLS_CONVINCING &&
	       finder->all.broken == one->broken;
}

/* ---- outputs ---- */

static bool operator_is_wrong(const struct walk *walk, const struct hk_call *call,
			      const struct hk_judged *judged, bool *ret_bitwise)
{
	const struct hk_rank_pair *pair = walk->judge->pair;

	if (!judged->known || judged->worst_output == HK_MATCH_NONE) {
		return false;
	}
	*ret_bitwise = judged->inputs_equal && judged->outputs_broken &&
		       bits_expected(walk->finder, call, judged);
	if (*ret_bitwise) {
		return true;
	}
	if (pair->matches[judged->worst_output].level != HK_MATCH_DIFFERS) {
		return false;
	}
	/* One step of a rounded input may change an index or a mask in any way. */
	if (judged->exact || isinf(judged->input_error)) {
		return judged->inputs_equal;
	}
	return !hk_background_explains_output(&walk->background, walk->judge, judged,
					      judged->worst_output);
}

/* ---- inputs ---- */

/* Whether rows BEFORE and NOW of one side are the same part of the same memory. */
static bool is_same_part(const struct hk_dump_row *before, const struct hk_dump_row *now)
{
	return before->storage == now->storage && before->offset == now->offset &&
	       before->dtype == now->dtype && before->dimensions == now->dimensions &&
	       (now->dimensions == 0 ||
		memcmp(before->shape, now->shape, now->dimensions * sizeof(*now->shape)) == 0);
}

/* Whether one side alone changed between the matches BEFORE and NOW. */
static bool is_changed_in_memory(const struct walk *walk, const struct hk_match *before,
				 const struct hk_match *now)
{
	const struct hk_rank_pair *pair = walk->judge->pair;
	struct hk_dump_row a[2], b[2];

	pair->a->ops->row(pair->a, before->a, &a[0]);
	pair->a->ops->row(pair->a, now->a, &a[1]);
	pair->b->ops->row(pair->b, before->b, &b[0]);
	pair->b->ops->row(pair->b, now->b, &b[1]);
	if (!is_same_part(&a[0], &a[1])) {
		return before->level == HK_MATCH_EQUAL && walk->clean &&
		       a[0].version == a[1].version;
	}
	return (a[0].statistics.digest == a[1].statistics.digest) !=
	       (b[0].statistics.digest == b[1].statistics.digest);
}

static bool is_alike(const struct hk_rank_pair *pair, const struct hk_match *match)
{
	struct hk_dump_row a, b;

	pair->a->ops->row(pair->a, match->a, &a);
	pair->b->ops->row(pair->b, match->b, &b);
	return a.dtype == b.dtype && a.dtype != HK_DTYPE_NONE;
}

/* Whether the row INDEX is too far off for the errors of all rows before it. */
static bool is_sudden(const struct walk *walk, uint32_t index)
{
	const struct hk_rank_pair *pair = walk->judge->pair;
	const struct hk_match *match = &pair->matches[index];

	if (walk->clean && walk->finder->seen_equal && match->other_bits && is_alike(pair, match)) {
		return true;
	}
	return match->level == HK_MATCH_DIFFERS &&
	       !hk_background_explains(&walk->background, walk->judge, index);
}

/* Whether the row INDEX, which a call reads, is off though nothing before it is. */
static bool input_is_wrong(struct walk *walk, uint32_t index)
{
	const struct hk_rank_pair *pair = walk->judge->pair;
	const struct hk_match *match = &pair->matches[index];
	uint32_t source = walk->judge->sources[index];
	const struct hk_match *before = source == UINT32_MAX ? NULL : &pair->matches[source];

	if (match->b == HK_MATCH_NONE || match->level == HK_MATCH_EQUAL ||
	    match->level == HK_MATCH_UNKNOWN || !is_sudden(walk, index)) {
		return false;
	}
	if (before && before->b != HK_MATCH_NONE && before->level >= HK_MATCH_FOLLOWS) {
		return false;
	}
	walk->found.kind = HK_FIRST_OUTSIDE;
	walk->found.match = index;
	walk->found.before = source == UINT32_MAX ? SIZE_MAX : source;
	walk->found.bitwise = walk->clean;
	if (before && before->b != HK_MATCH_NONE && is_changed_in_memory(walk, before, match)) {
		walk->found.kind = HK_FIRST_MEMORY;
	}
	return true;
}

/* ---- the walk ---- */

static void call_pass(struct walk *walk, const struct hk_call *call)
{
	for (uint32_t i = 0; i < call->count; i++) {
		uint32_t index = walk->judge->pair->a_calls.rows[call->first + i];
		const struct hk_match *match = &walk->judge->pair->matches[index];
		walk->clean &= match->b == HK_MATCH_NONE || match->level == HK_MATCH_EQUAL;
	}
	hk_background_take(&walk->background, walk->judge, call);
}

static bool inputs_walk(struct walk *walk, const struct hk_call *call)
{
	const struct hk_rank_pair *pair = walk->judge->pair;

	for (uint32_t i = 0; i < call->count; i++) {
		uint32_t index = pair->a_calls.rows[call->first + i];
		struct hk_dump_row row;
		pair->a->ops->row(pair->a, index, &row);
		if ((call->kind == HK_DUMP_STATE || !hk_judge_is_output(call, row.role)) &&
		    input_is_wrong(walk, index)) {
			return true;
		}
	}
	return false;
}

static bool call_is_first(struct walk *walk, const struct hk_call *call)
{
	struct hk_judged judged;

	if (call->twin == HK_CALL_NONE) {
		return false;
	}
	if (inputs_walk(walk, call)) {
		return true;
	}
	if (call->kind == HK_DUMP_STATE) {
		return false;
	}
	hk_judge_call(walk->judge, call, &judged);
	if (!operator_is_wrong(walk, call, &judged, &walk->found.bitwise)) {
		return false;
	}
	walk->found.kind = HK_FIRST_OPERATOR;
	walk->found.match = judged.worst_output;
	walk->found.input =
	    judged.worst_input == HK_MATCH_NONE ? SIZE_MAX : (size_t)judged.worst_input;
	return true;
}

/* Finds the first call of one pair of ranks that is wrong. Returns its number, or SIZE_MAX. */
static size_t pair_walk(struct walk *walk)
{
	const struct hk_calls *calls = &walk->judge->pair->a_calls;

	for (size_t i = 0; i < calls->count; i++) {
		const struct hk_call *call = &calls->list[i];
		if (call_is_first(walk, call)) {
			return i;
		}
		call_pass(walk, call);
	}
	return SIZE_MAX;
}

static size_t names_of(const struct hk_comparison *comparison)
{
	size_t names = 0;

	for (size_t i = 0; i < comparison->pair_count; i++) {
		const struct hk_calls *calls = &comparison->pairs[i].a_calls;
		for (size_t j = 0; j < calls->count; j++) {
			names = calls->list[j].name >= names ? calls->list[j].name + 1u : names;
		}
	}
	return names;
}

/* The place of call CALL within its step. */
static size_t place_of(const struct hk_calls *calls, size_t call)
{
	size_t first = call;

	while (first > 0 && calls->list[first - 1].step == calls->list[call].step) {
		first--;
	}
	return call - first;
}

static void pairs_walk(const struct finder *finder, const struct hk_judge *judges)
{
	struct hk_comparison *comparison = finder->comparison;
	uint64_t best_step = UINT64_MAX;
	size_t best_place = SIZE_MAX;

	for (size_t i = 0; i < comparison->pair_count; i++) {
		struct walk walk = {.finder = finder, .judge = &judges[i], .clean = true};
		const struct hk_calls *calls = &comparison->pairs[i].a_calls;
		size_t call = pair_walk(&walk);
		if (call == SIZE_MAX) {
			continue;
		}
		uint64_t step = calls->list[call].step;
		size_t place = place_of(calls, call);
		if (step < best_step || (step == best_step && place < best_place)) {
			best_step = step;
			best_place = place;
			comparison->first = walk.found;
			comparison->first.pair = i;
			comparison->first.call = call;
		}
	}
}

/* A divergence of bits differs, even if it is small enough to agree. */
static void first_mark(struct hk_comparison *comparison)
{
	const struct hk_first *first = &comparison->first;

	if (first->kind != HK_FIRST_NONE) {
		struct hk_match *match = &comparison->pairs[first->pair].matches[first->match];
		match->why = match->level == HK_MATCH_DIFFERS ? match->why : HK_WHY_BITS;
		match->level = HK_MATCH_DIFFERS;
	}
}

int hk_first_find(struct hk_comparison *comparison, const struct hk_judge *judges)
{
	struct finder finder = {.comparison = comparison};

	finder.of_name = calloc(names_of(comparison) + 1, sizeof(*finder.of_name));
	if (!finder.of_name) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < comparison->pair_count; i++) {
		evidence_take(&finder, &judges[i]);
	}
	pairs_walk(&finder, judges);
	free(finder.of_name);
	first_mark(comparison);
	return 0;
}
