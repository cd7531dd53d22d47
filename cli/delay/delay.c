#include "cli/delay/delay.h"

#include <errno.h>

#include "cli/delay/meetings.h"
#include "cli/delay/work_sums.h"

/* Of all comparisons of ranks together: pieces that are looked at for each piece that there is.
 * Behind that each comparison looks at the last calls only. */
#define LOOKS_EACH 32u
#define LOOKS_MORE (1u << 20)
#define LAST_CALLS 256u

struct charging {
	struct hk_history *history;
	struct hk_delays *delays;
	struct hk_work_sums sums; /* of the awaited lane, and of the waiting one */
	uint64_t looks_left;
};

/* What the awaited rank of a wait did longer. */
struct excess {
	double all_ns;
	double own_share; /* of what each part of own work is longer */
	double waited_ns;
};

static double positive(double value)
{
	return value > 0 ? value : 0;
}

static double difference_of(const struct hk_work_sum *sum)
{
	return (double)(sum->ns[0] - sum->ns[1]);
}

static struct excess excess_of(const struct charging *charging)
{
	const struct hk_work_sums *sums = &charging->sums;
	double own_ns = 0, parts_ns = 0;
	struct excess excess = {.waited_ns =
				    positive((double)(sums->waited_ns[0] - sums->waited_ns[1]))};

	for (size_t i = 0; i < sums->count; i++) {
		double more_ns = difference_of(&sums->list[i]);
		if (hk_work_class_of(charging->history, sums->list[i].key) == HK_WORK_OWN) {
			own_ns += more_ns;
			parts_ns += positive(more_ns);
		} else {
			excess.all_ns += positive(more_ns);
		}
	}
	own_ns = positive(own_ns);
	excess.own_share = parts_ns > 0 ? own_ns / parts_ns : 0;
	excess.all_ns += own_ns + excess.waited_ns;
	return excess;
}

/* Returns the start of the last calls of LANE before TO_NS. */
static uint64_t last_calls(const struct hk_lane *lane, uint64_t to_ns)
{
	size_t at = hk_lane_find(lane, to_ns);

	return at > LAST_CALLS ? lane->pieces[at - LAST_CALLS].start_ns : 0;
}

static size_t looks_of(const struct hk_lane *lane, uint64_t from_ns, uint64_t to_ns)
{
	return hk_lane_find(lane, to_ns) - hk_lane_find(lane, from_ns) + 2;
}

/* Returns from when on the ranks of WAIT are compared: from their last meeting on, or from their
 * last calls on when too much was looked at. */
static uint64_t compare_from(struct charging *charging, const struct hk_lane_wait *wait)
{
	const struct hk_lane *awaited = &charging->history->lanes[wait->awaited];
	const struct hk_lane *lane = &charging->history->lanes[wait->lane];
	uint64_t from_ns = wait->from_ns;
	size_t looks =
	    looks_of(awaited, from_ns, wait->until_ns) + looks_of(lane, from_ns, wait->start_ns);

	if (looks > charging->looks_left && looks > 2 * LAST_CALLS) {
		uint64_t x = last_calls(awaited, wait->until_ns);
		uint64_t y = last_calls(lane, wait->start_ns);
		x = x > y ? x : y;
		from_ns = x > from_ns ? x : from_ns;
		from_ns = from_ns < wait->start_ns ? from_ns : wait->start_ns;
		charging->delays->shortened++;
		return from_ns;
	}
	charging->looks_left -= looks < charging->looks_left ? looks : charging->looks_left;
	return from_ns;
}

/* Charges the part of WAIT that the awaited rank waited itself to those waits. */
static void pass_on(struct charging *charging, const struct hk_lane_wait *wait, uint64_t from_ns,
		    double share)
{
	struct hk_history *history = charging->history;
	const struct hk_lane *awaited = &history->lanes[wait->awaited];
	double cost_ns = (double)(wait->until_ns - wait->start_ns) + wait->passed_ns;

	for (size_t i = hk_lane_find_wait(history, awaited, from_ns); i < awaited->wait_count;
	     i++) {
		struct hk_lane_wait *own = &history->waits[awaited->waits[i]];
		if (own >= wait) {
			break;
		}
		own->passed_ns += share * cost_ns *
				  (double)hk_wait_overlap(own, from_ns, wait->until_ns) /
				  (double)charging->sums.waited_ns[0];
	}
}

static int spread(struct charging *charging, const struct hk_lane_wait *wait, uint64_t from_ns)
{
	const struct excess excess = excess_of(charging);
	double wait_ns = (double)(wait->until_ns - wait->start_ns);
	int rc = 0;

	if (excess.all_ns <= 0) {
		charging->delays->uncharged_ns += wait_ns + wait->passed_ns;
		return 0;
	}
	for (size_t i = 0; rc == 0 && i < charging->sums.count; i++) {
		const struct hk_work_sum *sum = &charging->sums.list[i];
		bool own = hk_work_class_of(charging->history, sum->key) == HK_WORK_OWN;
		double share =
		    positive(difference_of(sum)) / excess.all_ns * (own ? excess.own_share : 1);
		const struct hk_work_row row = {
		    .lane = wait->awaited,
		    .key = sum->key,
		    .ns = share * (wait_ns + wait->passed_ns),
		    .passed_ns = share * wait->passed_ns,
		};
		rc = share > 0 ? hk_work_rows_add(&charging->delays->rows, &row) : 0;
	}
	if (rc == 0 && excess.waited_ns > 0) {
		pass_on(charging, wait, from_ns, excess.waited_ns / excess.all_ns);
	}
	return rc;
}

static int charge(struct charging *charging, const struct hk_lane_wait *wait)
{
	struct hk_work_sums *sums = &charging->sums;
	uint64_t from_ns = compare_from(charging, wait);

	charging->delays->waits++;
	charging->delays->wait_ns += (double)(wait->until_ns - wait->start_ns);
	charging->delays->unsure += wait->rivalled;
	hk_work_sums_clear(sums);
	int rc =
	    hk_work_sums_add(sums, charging->history, wait->awaited, 0, from_ns, wait->until_ns);
	rc = rc < 0 ? rc
		    : hk_work_sums_add(sums, charging->history, wait->lane, 1, from_ns,
				       wait->start_ns);
	return rc < 0 ? rc : spread(charging, wait, from_ns);
}

int hk_delays_find(struct hk_history *history, struct hk_delays *ret_delays)
{
	struct charging charging = {.history = history,
				    .delays = ret_delays,
				    .looks_left =
					LOOKS_EACH * (uint64_t)history->pieces + LOOKS_MORE};

	*ret_delays = (struct hk_delays){0};
	int rc = hk_meetings_set(history);
	for (size_t i = 0; i < history->wait_count; i++) {
		history->waits[i].passed_ns = 0;
	}
	/* From the last to the first: a wait is charged after those that it caused. */
	for (size_t i = history->wait_count; rc == 0 && i-- > 0;) {
		rc = history->waits[i].certain ? charge(&charging, &history->waits[i]) : 0;
	}
	hk_work_sums_fini(&charging.sums);
	return rc < 0 ? rc : hk_work_rows_finish(&ret_delays->rows);
}

void hk_delays_fini(struct hk_delays *delays)
{
	hk_work_rows_fini(&delays->rows);
}
