#include "cli/compare/match/align.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define EDITS_MAX 2000 /* of half a path; bounds the work per token */
#define SLOTS (2 * EDITS_MAX + 3)

/* A part of both sequences, half open. */
struct box {
	int64_t a, a_end, b, b_end;
};

struct align {
	const uint64_t *a, *b;
	uint32_t *twins;
	/* The furthest token of A on diagonal k (A's minus B's position) after some edits, from the
	 * start and from the end; -1: not reached. Slot k + EDITS_MAX + 1. */
	int64_t *forward, *backward;
};

static bool is_same(const struct align *align, const struct box *box, bool reverse, int64_t x,
		    int64_t y)
{
	return reverse ? align->a[box->a_end - 1 - x] == align->b[box->b_end - 1 - y]
		       : align->a[box->a + x] == align->b[box->b + y];
}

/* Advances diagonal K by one edit and then along equal tokens. Returns where the equal tokens
 * begin, or -1 if the diagonal cannot be reached. */
static int64_t advance(const struct align *align, const struct box *box, bool reverse, int64_t k,
		       int64_t edits)
{
	int64_t *reach = (reverse ? align->backward : align->forward) + EDITS_MAX + 1;
	int64_t a_count = box->a_end - box->a, b_count = box->b_end - box->b;
	int64_t x = edits == 0 ? 0 : -1;

	if (edits > 0 && reach[k + 1] >= 0 && reach[k + 1] - k <= b_count) {
		x = reach[k + 1];
	}
	if (edits > 0 && reach[k - 1] >= 0 && reach[k - 1] + 1 > x && reach[k - 1] < a_count) {
		x = reach[k - 1] + 1;
	}
	int64_t start = x;
	while (x >= 0 && x < a_count && x - k < b_count && is_same(align, box, reverse, x, x - k)) {
		x++;
	}
	reach[k] = x;
	return start;
}

/* Whether the path on diagonal K meets a path from the other side of EDITS edits. */
static bool meets(const struct align *align, const struct box *box, bool reverse, int64_t k,
		  int64_t edits)
{
	const int64_t *reach = (reverse ? align->backward : align->forward) + EDITS_MAX + 1;
	const int64_t *other = (reverse ? align->forward : align->backward) + EDITS_MAX + 1;
	int64_t a_count = box->a_end - box->a;
	int64_t facing = a_count - (box->b_end - box->b) - k;

	return facing >= -edits && facing <= edits && reach[k] >= 0 && other[facing] >= 0 &&
	       reach[k] + other[facing] >= a_count;
}

static void slots_clear(const struct align *align, int64_t edits)
{
	int64_t *forward = align->forward + EDITS_MAX + 1,
		*backward = align->backward + EDITS_MAX + 1;

	forward[edits + 1] = forward[-edits - 1] = -1;
	backward[edits + 1] = backward[-edits - 1] = -1;
}

/* Finds a point on a shortest path in the middle of BOX. Returns false beyond EDITS_MAX. */
static bool middle(const struct align *align, const struct box *box, int64_t *ret_a, int64_t *ret_b)
{
	bool odd = ((box->a_end - box->a - box->b_end + box->b) & 1) != 0;

	for (int64_t edits = 0; edits <= EDITS_MAX; edits++) {
		slots_clear(align, edits);
		for (int64_t k = -edits; k <= edits; k += 2) {
			int64_t start = advance(align, box, false, k, edits);
			if (odd && meets(align, box, false, k, edits - 1)) {
				*ret_a = box->a + start;
				*ret_b = box->b + start - k;
				return true;
			}
		}
		for (int64_t k = -edits; k <= edits; k += 2) {
			int64_t start = advance(align, box, true, k, edits);
			if (!odd && meets(align, box, true, k, edits)) {
				*ret_a = box->a_end - start;
				*ret_b = box->b_end - (start - k);
				return true;
			}
		}
	}
	return false;
}

/* Pairs equal tokens at both ends of BOX and takes them off. */
static void ends_pair(const struct align *align, struct box *box)
{
	while (box->a < box->a_end && box->b < box->b_end && align->a[box->a] == align->b[box->b]) {
		align->twins[box->a++] = (uint32_t)box->b++;
	}
	while (box->a < box->a_end && box->b < box->b_end &&
	       align->a[box->a_end - 1] == align->b[box->b_end - 1]) {
		align->twins[--box->a_end] = (uint32_t)--box->b_end;
	}
}

/* Each level halves the number of edits, so the recursion is shallow. */
static void box_align(const struct align *align, struct box box)
{
	int64_t a, b;

	ends_pair(align, &box);
	if (box.a == box.a_end || box.b == box.b_end || !middle(align, &box, &a, &b)) {
		return;
	}
	box_align(align, (struct box){box.a, a, box.b, b});
	box_align(align, (struct box){a, box.a_end, b, box.b_end});
}

int hk_align(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count, uint32_t *twins)
{
	struct align align = {.a = a, .b = b, .twins = twins};
	struct box box = {0, (int64_t)a_count, 0, (int64_t)b_count};

	for (size_t i = 0; i < a_count; i++) {
		twins[i] = HK_ALIGN_NONE;
	}
	/* Most sequences differ in little or nothing, and there are many. */
	ends_pair(&align, &box);
	if (box.a == box.a_end || box.b == box.b_end) {
		return 0;
	}
	int64_t *slots = calloc(2 * SLOTS, sizeof(*slots));
	if (!slots) {
		return -ENOMEM;
	}
	align.forward = slots;
	align.backward = slots + SLOTS;
	box_align(&align, box);
	free(slots);
	return 0;
}
