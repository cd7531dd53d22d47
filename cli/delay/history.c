#include "cli/delay/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#define LENGTH_MOST ((UINT64_C(1) << 40) - 1)

struct hk_activity_entry {
	struct {
		const char *function;
		uint64_t digest, kind;
	} key;
	uint32_t number;
	UT_hash_handle hh;
};

int hk_history_init(struct hk_history *history, size_t lanes)
{
	*history = (struct hk_history){.lane_count = lanes, .full_ns = UINT64_MAX};
	history->lanes = calloc(lanes + 1, sizeof(*history->lanes));
	history->activities = calloc(HK_ACTIVITIES, sizeof(*history->activities));
	if (!history->lanes || !history->activities) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < lanes; i++) {
		history->lanes[i].doubt_ns = UINT64_MAX;
	}
	history->activities[HK_ACTIVITIES - 1] =
	    (struct hk_activity){.function = "(further functions)", .kind = HK_WORK_CALL};
	return 0;
}

void hk_history_fini(struct hk_history *history)
{
	struct hk_activity_entry *entry, *next;

	for (size_t i = 0; history->lanes && i < history->lane_count; i++) {
		free(history->lanes[i].pieces);
		free(history->lanes[i].device);
		free(history->lanes[i].waits);
	}
	HASH_ITER (hh, history->activity_table, entry, next) {
		HASH_DEL(history->activity_table, entry);
		free(entry);
	}
	free(history->lanes);
	free(history->activities);
	free(history->waits);
	hk_report_strings_fini(&history->strings);
	*history = (struct hk_history){0};
}

size_t hk_history_lane(const struct hk_history *history, int32_t rank)
{
	size_t low = 0, high = history->lane_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (history->lanes[middle].rank < rank) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < history->lane_count && history->lanes[low].rank == rank ? low : SIZE_MAX;
}

/* ---- what is added ---- */

int64_t hk_history_activity(struct hk_history *history, const struct hk_activity *activity)
{
	struct hk_activity_entry *entry, like;

	memset(&like, 0, sizeof(like));
	like.key.function = hk_report_strings_get(&history->strings, activity->function);
	like.key.digest = activity->digest;
	like.key.kind = activity->kind;
	if (!like.key.function) {
		return -ENOMEM;
	}
	HASH_FIND(hh, history->activity_table, &like.key, sizeof(like.key), entry);
	if (entry || history->activity_count == HK_ACTIVITIES - 1) {
		return entry ? entry->number : HK_ACTIVITIES - 1;
	}
	entry = malloc(sizeof(*entry));
	if (!entry) {
		return -ENOMEM;
	}
	*entry = like;
	entry->number = history->activity_count;
	HASH_ADD(hh, history->activity_table, key, sizeof(entry->key), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return -ENOMEM;
	}
	history->activities[entry->number] = *activity;
	history->activities[entry->number].function = like.key.function;
	return history->activity_count++;
}

/* Makes room for one more element. Returns 0 or -ENOMEM. */
static int grow(void **list, size_t count, size_t *room, size_t bytes)
{
	size_t wanted = *room > 0 ? *room + *room / 2 : 64;

	if (count < *room) {
		return 0;
	}
	void *grown = reallocarray(*list, wanted, bytes);
	if (!grown) {
		return -ENOMEM;
	}
	*list = grown;
	*room = wanted;
	return 0;
}

/* Returns whether a history with USED of MOST elements has no room at TIME_NS. */
static bool is_full(struct hk_history *history, size_t used, size_t most, uint64_t time_ns)
{
	if (used >= most && time_ns < history->full_ns) {
		history->full_ns = time_ns;
	}
	return time_ns >= history->full_ns;
}

static int piece_add(struct hk_history *history, struct hk_lane *lane, const struct hk_piece *piece)
{
	int rc = grow((void **)&lane->pieces, lane->piece_count, &lane->piece_room,
		      sizeof(*lane->pieces));

	if (rc == 0) {
		lane->pieces[lane->piece_count++] = *piece;
		history->pieces++;
	}
	return rc;
}

static uint64_t end_of(const struct hk_piece *piece)
{
	return piece->start_ns + piece->length_ns;
}

int hk_history_piece(struct hk_history *history, size_t number, uint32_t activity,
		     uint64_t start_ns, uint64_t end_ns)
{
	struct hk_lane *lane = &history->lanes[number];
	uint64_t last_ns = lane->piece_count > 0 ? end_of(&lane->pieces[lane->piece_count - 1]) : 0;
	int rc = 0;

	if (end_ns < last_ns || is_full(history, history->pieces, HK_HISTORY_PIECES, end_ns)) {
		return 0;
	}
	start_ns = start_ns < last_ns ? last_ns : start_ns;
	do {
		uint64_t length = end_ns > start_ns ? end_ns - start_ns : 0;
		const struct hk_piece piece = {
		    .start_ns = start_ns,
		    .length_ns = length < LENGTH_MOST ? length : LENGTH_MOST,
		    .activity = activity,
		};
		rc = piece_add(history, lane, &piece);
		start_ns = end_of(&piece);
	} while (rc == 0 && start_ns < end_ns && history->pieces < HK_HISTORY_PIECES);
	return rc;
}

int hk_history_device(struct hk_history *history, size_t number,
		      const struct hk_device_piece *piece)
{
	struct hk_lane *lane = &history->lanes[number];

	if (is_full(history, history->pieces, HK_HISTORY_PIECES, piece->end_ns)) {
		return 0;
	}
	int rc = grow((void **)&lane->device, lane->device_count, &lane->device_room,
		      sizeof(*lane->device));
	if (rc == 0) {
		lane->device[lane->device_count++] = *piece;
		history->pieces += 2;
	}
	return rc;
}

int hk_history_wait(struct hk_history *history, const struct hk_lane_wait *wait)
{
	if (is_full(history, history->wait_count, HK_HISTORY_WAITS, wait->start_ns)) {
		return 0;
	}
	int rc = grow((void **)&history->waits, history->wait_count, &history->wait_room,
		      sizeof(*history->waits));
	if (rc == 0) {
		history->waits[history->wait_count++] = *wait;
	}
	return rc;
}

/* ---- order ---- */

static int by_stream(const void *a, const void *b)
{
	const struct hk_device_piece *x = a, *y = b;

	if (x->stream != y->stream) {
		return x->stream < y->stream ? -1 : 1;
	}
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static int by_end(const void *a, const void *b)
{
	const struct hk_lane_wait *x = a, *y = b;

	if (x->until_ns != y->until_ns) {
		return x->until_ns < y->until_ns ? -1 : 1;
	}
	if (x->start_ns != y->start_ns) {
		return x->start_ns < y->start_ns ? -1 : 1;
	}
	return x->lane < y->lane ? -1 : x->lane > y->lane;
}

/* Sets the range of LANE that is known. */
static void limit(struct hk_history *history, struct hk_lane *lane)
{
	const struct hk_piece *pieces = lane->pieces;
	uint64_t first = lane->piece_count > 0 ? pieces[0].start_ns : 0;
	uint64_t last = lane->piece_count > 0 ? end_of(&pieces[lane->piece_count - 1]) : 0;

	lane->begin_ns = lane->begin_ns > 0 ? lane->begin_ns : first;
	lane->end_ns = lane->end_ns > 0 ? lane->end_ns : last;
	lane->end_ns = lane->end_ns < lane->begin_ns ? lane->begin_ns : lane->end_ns;
	lane->doubt_ns = lane->doubt_ns < history->full_ns ? lane->doubt_ns : history->full_ns;
}

/* Returns whether WAIT is in a call of its lane that communicates, and all of it is known. Sets its
 * activity. */
static bool is_placed(const struct hk_history *history, struct hk_lane_wait *wait)
{
	const struct hk_lane *lane = &history->lanes[wait->lane];
	const struct hk_lane *awaited = &history->lanes[wait->awaited];
	size_t at = hk_lane_find(lane, wait->start_ns);

	if (at == lane->piece_count || lane->pieces[at].start_ns != wait->start_ns ||
	    wait->start_ns < lane->begin_ns || wait->until_ns > lane->doubt_ns ||
	    wait->until_ns > awaited->doubt_ns) {
		return false;
	}
	wait->activity = lane->pieces[at].activity;
	return history->activities[wait->activity].kind == HK_WORK_COMM;
}

static void waits_place(struct hk_history *history)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->wait_count; i++) {
		struct hk_lane_wait *wait = &history->waits[i];
		if (!is_placed(history, wait)) {
			history->elsewhere += wait->certain && wait->until_ns < history->full_ns;
			continue;
		}
		history->lanes[wait->lane].wait_count++;
		history->waits[kept++] = *wait;
	}
	history->wait_count = kept;
}

int hk_history_finish(struct hk_history *history)
{
	for (size_t i = 0; i < history->lane_count; i++) {
		struct hk_lane *lane = &history->lanes[i];
		limit(history, lane);
		if (lane->device_count > 0) {
			qsort(lane->device, lane->device_count, sizeof(*lane->device), by_stream);
		}
	}
	waits_place(history);
	if (history->wait_count > 0) {
		qsort(history->waits, history->wait_count, sizeof(*history->waits), by_end);
	}
	for (size_t i = 0; i < history->lane_count; i++) {
		struct hk_lane *lane = &history->lanes[i];
		lane->waits = calloc(lane->wait_count + 1, sizeof(*lane->waits));
		lane->wait_count = 0;
		if (!lane->waits) {
			return -ENOMEM;
		}
	}
	for (size_t i = 0; i < history->wait_count; i++) {
		struct hk_lane *lane = &history->lanes[history->waits[i].lane];
		lane->waits[lane->wait_count++] = (uint32_t)i;
	}
	return 0;
}

/* ---- time ---- */

enum hk_work_class hk_work_class_of(const struct hk_history *history, uint64_t key)
{
	if (key == HK_WORK_UNKNOWN_KEY) {
		return HK_WORK_UNKNOWN;
	}
	return hk_work_is_call(key) ? history->activities[hk_work_activity(key)].kind : HK_WORK_OWN;
}

const char *hk_work_class_name(enum hk_work_class kind)
{
	static const char *const names[] = {"own work", "communication", "other calls", "devices",
					    "unknown"};

	return names[kind];
}

size_t hk_lane_find(const struct hk_lane *lane, uint64_t time_ns)
{
	size_t low = 0, high = lane->piece_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (end_of(&lane->pieces[middle]) <= time_ns) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

struct hk_tile hk_lane_before(const struct hk_lane *lane, uint64_t time_ns)
{
	size_t at = hk_lane_find(lane, time_ns - 1);
	const struct hk_piece *piece = at < lane->piece_count ? &lane->pieces[at] : NULL;
	const struct hk_piece *before = at > 0 ? &lane->pieces[at - 1] : NULL;

	if (piece && piece->start_ns < time_ns) {
		return (struct hk_tile){.key = hk_work_call(piece->activity),
					.start_ns = piece->start_ns,
					.activity = piece->activity};
	}
	return (struct hk_tile){
	    .key = hk_work_between(before ? before->activity : HK_NO_ACTIVITY,
				   piece ? piece->activity : HK_NO_ACTIVITY),
	    .start_ns = before ? end_of(before) : 0,
	    .activity = HK_NO_ACTIVITY,
	};
}
