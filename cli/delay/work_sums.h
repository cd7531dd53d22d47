/* work_sums.h: how long two lanes did what in a span of time, to compare them. Used again for span
 * after span: memory is that of the largest one. One owner, no locking. */
#ifndef HK_CLI_DELAY_WORK_SUMS_H
#define HK_CLI_DELAY_WORK_SUMS_H

#include "cli/delay/history.h"

struct hk_work_sum {
	uint64_t key;
	int64_t ns[2]; /* of both lanes, without certain waits */
};

/* NULL and 0 at first. */
struct hk_work_sums {
	struct hk_work_sum *list;
	uint32_t *slots; /* by a digest of the key: index in the list and 1, or 0 */
	size_t count, room, slot_count;
	int64_t waited_ns[2]; /* in certain waits */
};

void hk_work_sums_fini(struct hk_work_sums *sums);
void hk_work_sums_clear(struct hk_work_sums *sums);

/* Adds as lane SIDE, 0 or 1, what lane LANE did from FROM_NS to TO_NS. Returns 0 or -ENOMEM. */
int hk_work_sums_add(struct hk_work_sums *sums, const struct hk_history *history, size_t lane,
		     int side, uint64_t from_ns, uint64_t to_ns);

/* Returns the index in LANE's waits of the first one that ends after TIME_NS. */
size_t hk_lane_find_wait(const struct hk_history *history, const struct hk_lane *lane,
			 uint64_t time_ns);

/* Returns how long WAIT lasted between FROM_NS and TO_NS. */
uint64_t hk_wait_overlap(const struct hk_lane_wait *wait, uint64_t from_ns, uint64_t to_ns);

#endif
