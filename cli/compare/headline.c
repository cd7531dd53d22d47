#include "cli/compare/headline.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/compare/label.h"
#include "cli/compare/shape.h"

#define NUMBERS_BYTES 256

/* The numbers of MATCH: "cos 0.9713, max abs 0.41 at [5,17]". */
static const char *numbers_text(char text[NUMBERS_BYTES], const struct hk_rank_pair *pair,
				const struct hk_match *match)
{
	const struct hk_difference *difference = match->difference;
	char place[HK_SHAPE_TEXT_BYTES];
	struct hk_dump_row row;

	pair->a->ops->row(pair->a, match->a, &row);
	if (match->why == HK_WHY_COUNT || match->why == HK_WHY_SCALAR) {
		char reason[HK_LABEL_BYTES];
		snprintf(text, NUMBERS_BYTES, "%.200s", hk_label_reason(reason, pair, match));
	} else if (!difference) {
		snprintf(text, NUMBERS_BYTES, "error at least %.3g of the norm", match->error);
	} else if (difference->only_a || difference->only_b) {
		snprintf(text, NUMBERS_BYTES,
			 "%" PRIu64 " elements are not finite, %" PRIu64 " in B only",
			 difference->only_a, difference->only_b);
	} else {
		snprintf(text, NUMBERS_BYTES,
			 "cos %.6f, max abs %.2g at %s, %" PRIu64 " of %" PRIu64 " elements",
			 difference->cosine, difference->max_abs,
			 hk_shape_place(place, difference->max_abs_at, row.shape, row.dimensions),
			 difference->count - difference->equal, difference->count);
	}
	return text;
}

/* "inputs are equal", "inputs agree (error 3e-3)" or "it has no inputs". */
static const char *inputs_text(char text[NUMBERS_BYTES], const struct hk_rank_pair *pair,
			       const struct hk_first *first)
{
	if (first->input == SIZE_MAX) {
		snprintf(text, NUMBERS_BYTES, "inputs are equal bit by bit");
		return text;
	}
	const struct hk_match *match = &pair->matches[first->input];
	if (match->difference) {
		snprintf(text, NUMBERS_BYTES, "inputs agree (cos %.6f)", match->difference->cosine);
	} else {
		snprintf(text, NUMBERS_BYTES, "inputs agree (error %.2g)", match->error);
	}
	return text;
}

/* The call of row INDEX of A. */
static const char *call_text(char text[HK_LABEL_BYTES], const struct hk_rank_pair *pair,
			     size_t index)
{
	struct hk_dump_row row;

	pair->a->ops->row(pair->a, index, &row);
	return hk_label_call(text, &row);
}

static void operator_text(char *text, const struct hk_rank_pair *pair, const struct hk_first *first)
{
	const struct hk_match *match = &pair->matches[first->match];
	char inputs[NUMBERS_BYTES], numbers[NUMBERS_BYTES], slot[HK_LABEL_BYTES];
	struct hk_dump_row row;

	pair->a->ops->row(pair->a, match->a, &row);
	snprintf(text, HK_HEADLINE_BYTES / 2, "%s, %.100s %s (%s%s)",
		 inputs_text(inputs, pair, first), hk_label_slot(slot, &row),
		 first->bitwise ? "is not" : "does not", numbers_text(numbers, pair, match),
		 match->transposed ? "; agrees with B transposed" : "");
}

/* How the memory of row NOW was written since BEFORE, as the framework counts writes. */
static const char *writes_text(char text[NUMBERS_BYTES], const struct hk_dump_row *before,
			       const struct hk_dump_row *now)
{
	uint64_t writes = now->version - before->version;

	if (writes == 0) {
		snprintf(text, NUMBERS_BYTES, "past the framework");
	} else {
		snprintf(text, NUMBERS_BYTES,
			 "%" PRIu64 " write%s of the framework that no call of the dump makes",
			 writes, writes == 1 ? "" : "s");
	}
	return text;
}

static void memory_text(char *text, const struct hk_rank_pair *pair, const struct hk_first *first)
{
	char call[HK_LABEL_BYTES], numbers[NUMBERS_BYTES], slot[HK_LABEL_BYTES];
	char writes[NUMBERS_BYTES];
	const struct hk_match *match = &pair->matches[first->match];
	struct hk_dump_row row, before;

	pair->a->ops->row(pair->a, match->a, &row);
	pair->a->ops->row(pair->a, first->before, &before);
	snprintf(
	    text, HK_HEADLINE_BYTES / 2,
	    "%.100s changed in memory since %.300s, %s: it agreed there and does not here (%s)",
	    hk_label_slot(slot, &row), hk_label_call(call, &before),
	    writes_text(writes, &before, &row), numbers_text(numbers, pair, match));
}

static void outside_text(char *text, const struct hk_rank_pair *pair, const struct hk_first *first)
{
	char before[HK_LABEL_BYTES], numbers[NUMBERS_BYTES], slot[HK_LABEL_BYTES];
	const struct hk_match *match = &pair->matches[first->match];
	struct hk_dump_row row;

	pair->a->ops->row(pair->a, match->a, &row);
	int length = snprintf(text, HK_HEADLINE_BYTES / 4,
			      "%.100s comes from outside of the dump and does not agree (%s%s)",
			      hk_label_slot(slot, &row), numbers_text(numbers, pair, match),
			      match->transposed ? "; agrees with B transposed" : "");
	if (first->before != SIZE_MAX && length > 0) {
		snprintf(text + length, HK_HEADLINE_BYTES / 4, "; last seen by %.300s",
			 call_text(before, pair, first->before));
	}
}

const char *hk_headline(char text[HK_HEADLINE_BYTES], const struct hk_comparison *comparison)
{
	const struct hk_first *first = &comparison->first;
	char call[HK_LABEL_BYTES], what[HK_HEADLINE_BYTES / 2];
	struct hk_dump_row row;

	text[0] = '\0';
	if (first->kind == HK_FIRST_NONE) {
		return text;
	}
	const struct hk_rank_pair *pair = &comparison->pairs[first->pair];
	pair->a->ops->row(pair->a, first->match, &row);
	if (first->kind == HK_FIRST_OPERATOR) {
		operator_text(what, pair, first);
	} else if (first->kind == HK_FIRST_MEMORY) {
		memory_text(what, pair, first);
	} else {
		outside_text(what, pair, first);
	}
	snprintf(text, HK_HEADLINE_BYTES, "%s, rank %" PRIu32 ", step %" PRIu64 ": %s",
		 hk_label_call(call, &row), pair->a->rank, row.step, what);
	return text;
}

uint32_t hk_headline_stack(const struct hk_comparison *comparison, const char *const **ret_frames)
{
	const struct hk_first *first = &comparison->first;
	struct hk_dump_row row;

	if (first->kind == HK_FIRST_NONE) {
		return 0;
	}
	const struct hk_rank_pair *pair = &comparison->pairs[first->pair];
	pair->a->ops->row(pair->a, first->match, &row);
	return row.stack == HK_DUMP_NONE ? 0 : pair->a->ops->stack(pair->a, row.stack, ret_frames);
}
