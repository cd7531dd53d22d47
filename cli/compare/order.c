#include "cli/compare/order.h"

#include <math.h>
#include <stdlib.h>

struct place {
	struct hk_order_row row;
	int rank; /* of its level, the worst is 0 */
	double error;
};

/* Unmatched rows have no numbers: they come after those that have. */
static int rank_of(const struct hk_comparison *comparison, size_t pair, size_t match)
{
	static const int ranks[HK_MATCH_LEVELS] = {
	    [HK_MATCH_DIFFERS] = 1, [HK_MATCH_FOLLOWS] = 2, [HK_MATCH_UNMATCHED] = 3,
	    [HK_MATCH_UNKNOWN] = 4, [HK_MATCH_AGREES] = 5,  [HK_MATCH_EQUAL] = 6};
	const struct hk_first *first = &comparison->first;

	if (first->kind != HK_FIRST_NONE && first->pair == pair && first->match == match) {
		return 0;
	}
	return ranks[comparison->pairs[pair].matches[match].level];
}

static int by_place(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->rank != b->rank) {
		return a->rank - b->rank;
	}
	if (a->error != b->error) {
		return a->error > b->error ? -1 : 1;
	}
	if (a->row.pair != b->row.pair) {
		return a->row.pair < b->row.pair ? -1 : 1;
	}
	return a->row.match < b->row.match ? -1 : 1;
}

static size_t places_fill(const struct hk_comparison *comparison, bool all, struct place *places)
{
	size_t count = 0;

	for (size_t i = 0; i < comparison->pair_count; i++) {
		for (size_t j = 0; j < comparison->pairs[i].count; j++) {
			const struct hk_match *match = &comparison->pairs[i].matches[j];
			if (match->level == HK_MATCH_ELSEWHERE ||
			    (!all && match->level <= HK_MATCH_AGREES)) {
				continue;
			}
			places[count++] =
			    (struct place){{(uint32_t)i, (uint32_t)j},
					   rank_of(comparison, i, j),
					   isnan(match->error) ? INFINITY : match->error};
		}
	}
	return count;
}

struct hk_order_row *hk_order_rows(const struct hk_comparison *comparison, bool all,
				   size_t *ret_count)
{
	size_t rows = 0;

	for (size_t i = 0; i < comparison->pair_count; i++) {
		rows += comparison->pairs[i].count;
	}
	struct place *places = calloc(rows + 1, sizeof(*places));
	struct hk_order_row *order = calloc(rows + 1, sizeof(*order));
	if (!places || !order) {
		free(places);
		free(order);
		return NULL;
	}
	*ret_count = places_fill(comparison, all, places);
	qsort(places, *ret_count, sizeof(*places), by_place);
	for (size_t i = 0; i < *ret_count; i++) {
		order[i] = places[i].row;
	}
	free(places);
	return order;
}
