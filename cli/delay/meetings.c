#include "cli/delay/meetings.h"

#include <errno.h>
#include <stdlib.h>

#include <uthash.h>

struct pair {
	uint64_t lanes;
	uint64_t aligned_ns;
	UT_hash_handle hh;
};

/* A collective of a lane. */
struct meeting {
	uint32_t joint;
	uint64_t aligned_ns; /* 0: none */
};

/* The newest collectives of a lane in a communicator: while the waits of one pass by, some lanes
 * have entered it already. */
struct comm {
	uint32_t comm;
	struct meeting last, previous;
};

struct comms {
	struct comm list[HK_MEETING_COMMS];
	size_t count, next;
};

struct meetings {
	const struct hk_history *history;
	struct comms *comms; /* of each lane */
	struct pair *pairs;
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- pairs ---- */

static uint64_t lanes_of(const struct hk_lane_wait *wait)
{
	uint32_t low = wait->lane < wait->awaited ? wait->lane : wait->awaited;
	uint32_t high = wait->lane < wait->awaited ? wait->awaited : wait->lane;

	return (uint64_t)high << 32 | low;
}

static struct pair *pair_of(const struct meetings *meetings, const struct hk_lane_wait *wait)
{
	uint64_t lanes = lanes_of(wait);
	struct pair *pair;

	HASH_FIND(hh, meetings->pairs, &lanes, sizeof(lanes), pair);
	return pair;
}

static int pair_note(struct meetings *meetings, const struct hk_lane_wait *wait)
{
	struct pair *pair = pair_of(meetings, wait);

	if (!pair && HASH_COUNT(meetings->pairs) >= HK_MEETING_PAIRS) {
		return 0;
	}
	if (!pair) {
		pair = calloc(1, sizeof(*pair));
		if (!pair) {
			return -ENOMEM;
		}
		pair->lanes = lanes_of(wait);
		HASH_ADD(hh, meetings->pairs, lanes, sizeof(pair->lanes), pair);
		if (!pair->hh.tbl) {
			free(pair);
			return -ENOMEM;
		}
	}
	pair->aligned_ns = wait->aligned_ns;
	return 0;
}

/* ---- collectives ---- */

static struct comm *comm_of(struct comms *comms, uint32_t comm)
{
	for (size_t i = 0; i < comms->count; i++) {
		if (comms->list[i].comm == comm) {
			return &comms->list[i];
		}
	}
	return NULL;
}

static void comm_note(struct comms *comms, const struct hk_lane_wait *wait)
{
	struct comm *comm = comm_of(comms, wait->comm);

	if (!comm) {
		comm = &comms->list[comms->next];
		comms->next = (comms->next + 1) % HK_MEETING_COMMS;
		comms->count += comms->count < HK_MEETING_COMMS;
		*comm = (struct comm){.comm = wait->comm};
	}
	if (comm->last.joint != wait->joint || comm->last.aligned_ns == 0) {
		comm->previous = comm->last;
		comm->last = (struct meeting){.joint = wait->joint};
	}
	comm->last.aligned_ns = later(comm->last.aligned_ns, wait->aligned_ns);
}

/* Returns when both lanes had left the collective of X and Y, 0 if it is not the same one, or that
 * of WAIT. */
static uint64_t met(const struct hk_lane_wait *wait, uint32_t comm, const struct meeting *x,
		    const struct meeting *y)
{
	bool same = x->joint == y->joint && x->aligned_ns > 0 && y->aligned_ns > 0;
	bool now = comm == wait->comm && x->joint == wait->joint;

	return same && !now ? later(x->aligned_ns, y->aligned_ns) : 0;
}

/* Returns when both lanes of WAIT had left their last common collective before it; 0: none. */
static uint64_t collective_of(const struct meetings *meetings, const struct hk_lane_wait *wait)
{
	const struct comms *own = &meetings->comms[wait->lane];
	uint64_t last_ns = 0;

	for (size_t i = 0; i < own->count; i++) {
		const struct comm *x = &own->list[i];
		const struct comm *y = comm_of(&meetings->comms[wait->awaited], x->comm);
		if (y) {
			last_ns = later(last_ns, met(wait, x->comm, &x->last, &y->last));
			last_ns = later(last_ns, met(wait, x->comm, &x->last, &y->previous));
			last_ns = later(last_ns, met(wait, x->comm, &x->previous, &y->last));
			last_ns = later(last_ns, met(wait, x->comm, &x->previous, &y->previous));
		}
	}
	return last_ns;
}

/* ---- waits ---- */

static int wait_take(struct meetings *meetings, struct hk_lane_wait *wait)
{
	const struct hk_lane *lanes = meetings->history->lanes;
	const struct pair *pair = pair_of(meetings, wait);
	uint64_t from_ns = later(lanes[wait->lane].begin_ns, lanes[wait->awaited].begin_ns);

	from_ns = later(from_ns, pair ? pair->aligned_ns : 0);
	from_ns = later(from_ns, collective_of(meetings, wait));
	/* The awaited rank may leave their last meeting later than the other one comes again. */
	wait->from_ns = from_ns < wait->start_ns ? from_ns : wait->start_ns;
	if (wait->comm == 0) {
		return pair_note(meetings, wait);
	}
	comm_note(&meetings->comms[wait->lane], wait);
	comm_note(&meetings->comms[wait->awaited], wait);
	return 0;
}

int hk_meetings_set(struct hk_history *history)
{
	struct meetings meetings = {.history = history};
	struct pair *pair, *next;
	int rc = 0;

	meetings.comms = calloc(history->lane_count + 1, sizeof(*meetings.comms));
	if (!meetings.comms) {
		return -ENOMEM;
	}
	for (size_t i = 0; rc == 0 && i < history->wait_count; i++) {
		rc = wait_take(&meetings, &history->waits[i]);
	}
	HASH_ITER (hh, meetings.pairs, pair, next) {
		HASH_DEL(meetings.pairs, pair);
		free(pair);
	}
	free(meetings.comms);
	return rc;
}
