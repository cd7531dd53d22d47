#include "cli/delay/work_sums.h"

#include <errno.h>
#include <stdlib.h>

void hk_work_sums_fini(struct hk_work_sums *sums)
{
	free(sums->list);
	free(sums->slots);
	*sums = (struct hk_work_sums){0};
}

/* Returns the slot of KEY, which is free or its own. There are always free ones. */
static uint32_t *slot_of(const struct hk_work_sums *sums, uint64_t key)
{
	size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (sums->slot_count - 1);

	while (sums->slots[at] > 0 && sums->list[sums->slots[at] - 1].key != key) {
		at = (at + 1) & (sums->slot_count - 1);
	}
	return &sums->slots[at];
}

void hk_work_sums_clear(struct hk_work_sums *sums)
{
	/* From the last to the first, so that no slot is freed before one found behind it. */
	for (size_t i = sums->count; i-- > 0;) {
		*slot_of(sums, sums->list[i].key) = 0;
	}
	sums->count = 0;
	sums->waited_ns[0] = sums->waited_ns[1] = 0;
}

static int grow(struct hk_work_sums *sums)
{
	size_t room = sums->room > 0 ? sums->room * 2 : 64;
	struct hk_work_sum *list = reallocarray(sums->list, room, sizeof(*list));

	if (!list) {
		return -ENOMEM;
	}
	sums->list = list;
	uint32_t *slots = calloc(room * 2, sizeof(*slots));
	if (!slots) {
		return -ENOMEM;
	}
	free(sums->slots);
	sums->slots = slots;
	sums->slot_count = room * 2;
	sums->room = room;
	for (size_t i = 0; i < sums->count; i++) {
		*slot_of(sums, list[i].key) = (uint32_t)i + 1;
	}
	return 0;
}

static int add(struct hk_work_sums *sums, uint64_t key, int side, int64_t ns)
{
	int rc = sums->count == sums->room ? grow(sums) : 0;

	if (rc < 0) {
		return rc;
	}
	uint32_t *slot = slot_of(sums, key);
	if (*slot == 0) {
		sums->list[sums->count++] = (struct hk_work_sum){.key = key};
		*slot = (uint32_t)sums->count;
	}
	sums->list[*slot - 1].ns[side] += ns;
	return 0;
}

size_t hk_lane_find_wait(const struct hk_history *history, const struct hk_lane *lane,
			 uint64_t time_ns)
{
	size_t low = 0, high = lane->wait_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (history->waits[lane->waits[middle]].until_ns <= time_ns) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

uint64_t hk_wait_overlap(const struct hk_lane_wait *wait, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t start = wait->start_ns > from_ns ? wait->start_ns : from_ns;
	uint64_t end = wait->until_ns < to_ns ? wait->until_ns : to_ns;

	return wait->certain && end > start ? end - start : 0;
}

/* Takes the lane's waits out of the calls that they are part of. */
static int waits_take(struct hk_work_sums *sums, const struct hk_history *history,
		      const struct hk_lane *lane, int side, uint64_t from_ns, uint64_t to_ns)
{
	int rc = 0;

	for (size_t i = hk_lane_find_wait(history, lane, from_ns); rc == 0 && i < lane->wait_count;
	     i++) {
		const struct hk_lane_wait *wait = &history->waits[lane->waits[i]];
		int64_t waited_ns = (int64_t)hk_wait_overlap(wait, from_ns, to_ns);
		if (wait->start_ns >= to_ns) {
			break;
		}
		if (waited_ns > 0) {
			sums->waited_ns[side] += waited_ns;
			rc = add(sums, hk_work_call(wait->activity), side, -waited_ns);
		}
	}
	return rc;
}

int hk_work_sums_add(struct hk_work_sums *sums, const struct hk_history *history, size_t number,
		     int side, uint64_t from_ns, uint64_t to_ns)
{
	const struct hk_lane *lane = &history->lanes[number];
	size_t at = hk_lane_find(lane, from_ns);
	uint32_t before = at > 0 ? lane->pieces[at - 1].activity : HK_NO_ACTIVITY;
	int rc = 0;

	for (uint64_t now = from_ns; rc == 0 && now < to_ns; at++) {
		const struct hk_piece *piece = at < lane->piece_count ? &lane->pieces[at] : NULL;
		uint32_t after = piece ? piece->activity : HK_NO_ACTIVITY;
		uint64_t start = piece && piece->start_ns < to_ns ? piece->start_ns : to_ns;
		if (start > now) {
			rc =
			    add(sums, hk_work_between(before, after), side, (int64_t)(start - now));
			now = start;
		}
		if (rc == 0 && piece && now < to_ns) {
			uint64_t end = piece->start_ns + piece->length_ns;
			end = end < to_ns ? end : to_ns;
			rc = end > now ? add(sums, hk_work_call(after), side, (int64_t)(end - now))
				       : 0;
			now = end > now ? end : now;
		}
		before = after;
	}
	return rc < 0 ? rc : waits_take(sums, history, lane, side, from_ns, to_ns);
}
