#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/compare/match/ranks.h"

struct pairing {
	const struct hk_source_parts *a, *b;
	const struct hk_compare_options *options;
	struct hk_ranks_pair *pairs;
	size_t count;
	bool *a_taken, *b_taken;
};

static bool is_wanted(const struct pairing *pairing, const struct hk_source_part *part)
{
	return hk_span_has_rank(pairing->options->ranks, pairing->options->span_count,
				(int32_t)part->rank);
}

static void pair_add(struct pairing *pairing, size_t a, size_t b)
{
	pairing->pairs[pairing->count++] = (struct hk_ranks_pair){a, b};
	pairing->a_taken[a] = pairing->b_taken[b] = true;
}

/* Pairs the free parts of rank A_RANK with those of rank B_RANK in order. */
static void rank_pair(struct pairing *pairing, uint32_t a_rank, uint32_t b_rank)
{
	for (size_t i = 0, j = 0; i < pairing->a->count; i++) {
		if (pairing->a->list[i].rank != a_rank || pairing->a_taken[i]) {
			continue;
		}
		while (j < pairing->b->count &&
		       (pairing->b->list[j].rank != b_rank || pairing->b_taken[j])) {
			j++;
		}
		if (j < pairing->b->count) {
			pair_add(pairing, i, j);
		}
	}
}

static void mapped_pair(struct pairing *pairing)
{
	const struct hk_mapping *mapping = pairing->options->mapping;

	for (size_t i = 0; i < mapping->rank_count; i++) {
		rank_pair(pairing, mapping->ranks[i].a, mapping->ranks[i].b);
	}
}

static void numbers_pair(struct pairing *pairing)
{
	for (size_t i = 0; i < pairing->a->count; i++) {
		if (!pairing->a_taken[i] && is_wanted(pairing, &pairing->a->list[i])) {
			rank_pair(pairing, pairing->a->list[i].rank, pairing->a->list[i].rank);
		}
	}
}

/* Nothing has the same number: parts in order, or all with the only one. */
static void order_pair(struct pairing *pairing)
{
	size_t a_count = pairing->a->count, b_count = pairing->b->count;
	size_t many = a_count > b_count ? a_count : b_count;

	if (a_count != b_count && a_count != 1 && b_count != 1) {
		return;
	}
	for (size_t i = 0; i < many; i++) {
		size_t a = a_count == 1 ? 0 : i, b = b_count == 1 ? 0 : i;
		const struct hk_source_part *part =
		    b_count > a_count ? &pairing->b->list[b] : &pairing->a->list[a];
		if (is_wanted(pairing, part)) {
			pair_add(pairing, a, b);
		}
	}
}

/* --ranks asks for ranks of the larger side: the only rank of the other is compared with each. */
static bool is_one_with_many(const struct pairing *pairing)
{
	return pairing->options->span_count > 0 && pairing->options->mapping->rank_count == 0 &&
	       (pairing->a->count == 1) != (pairing->b->count == 1);
}

/* Whether the mapping puts shards of RANK together with those of other ranks. */
static bool is_shard(const struct pairing *pairing, enum hk_mapping_side side, uint32_t rank)
{
	const struct hk_mapping *mapping = pairing->options->mapping;
	enum hk_mapping_side larger = pairing->b->count > pairing->a->count ? HK_SIDE_B : HK_SIDE_A;

	for (size_t i = 0; i < mapping->layout_count; i++) {
		const struct hk_mapping_layout *layout = &mapping->layouts[i];
		if (!layout->replicated &&
		    (layout->side == HK_SIDE_LARGER ? larger : layout->side) == side &&
		    hk_span_has_rank(layout->spans, layout->span_count, (int32_t)rank)) {
			return true;
		}
	}
	return false;
}

static void unpaired_warn(const struct pairing *pairing, const struct hk_source_parts *parts,
			  const bool *taken, enum hk_mapping_side side)
{
	char sentence[224];
	size_t left = 0;
	uint32_t first = 0;

	for (size_t i = parts->count; i-- > 0;) {
		if (!taken[i] && is_wanted(pairing, &parts->list[i]) &&
		    !is_shard(pairing, side, parts->list[i].rank)) {
			left++;
			first = parts->list[i].rank;
		}
	}
	if (left > 0) {
		snprintf(
		    sentence, sizeof(sentence),
		    "%zu rank%s of %s, the first is %u, ha%s no counterpart and %s not compared "
		    "(--ranks compares one rank with several, a mapping pairs ranks)",
		    left, left > 1 ? "s" : "", side == HK_SIDE_A ? "A" : "B", (unsigned)first,
		    left > 1 ? "ve" : "s", left > 1 ? "are" : "is");
		pairing->options->warn(pairing->options->context, sentence);
	}
}

ssize_t hk_ranks_pair(const struct hk_comparison *comparison,
		      const struct hk_compare_options *options, struct hk_ranks_pair **ret_pairs)
{
	struct pairing pairing = {
	    .a = &comparison->a.parts, .b = &comparison->b.parts, .options = options};

	pairing.pairs = calloc(pairing.a->count + pairing.b->count, sizeof(*pairing.pairs));
	pairing.a_taken = calloc(pairing.a->count, sizeof(bool));
	pairing.b_taken = calloc(pairing.b->count, sizeof(bool));
	if (!pairing.pairs || !pairing.a_taken || !pairing.b_taken) {
		free(pairing.pairs);
		pairing.pairs = NULL;
		pairing.count = 0;
	} else if (is_one_with_many(&pairing)) {
		order_pair(&pairing);
	} else {
		mapped_pair(&pairing);
		numbers_pair(&pairing);
		if (pairing.count == 0) {
			order_pair(&pairing);
		}
	}
	if (pairing.pairs && pairing.count > 0) {
		unpaired_warn(&pairing, pairing.a, pairing.a_taken, HK_SIDE_A);
		unpaired_warn(&pairing, pairing.b, pairing.b_taken, HK_SIDE_B);
	}
	free(pairing.a_taken);
	free(pairing.b_taken);
	*ret_pairs = pairing.pairs;
	return pairing.pairs ? (ssize_t)pairing.count : -ENOMEM;
}
