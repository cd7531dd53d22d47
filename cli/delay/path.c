#include "cli/delay/path.h"

#include <errno.h>

/* Times of devices are converted to the host's clock: neighbours on a stream may overlap by less.
 */
#define OVERLAP_NS 1000u

/* Where the path has come to. */
struct walk {
	const struct hk_history *history;
	struct hk_path *path;
	size_t lane;
	uint64_t now_ns;
	size_t limit; /* only waits before this one are followed */
};

static int add(struct walk *walk, uint64_t key, uint64_t from_ns)
{
	double ns = from_ns < walk->now_ns ? (double)(walk->now_ns - from_ns) : 0;
	const struct hk_work_row row = {.lane = (uint32_t)walk->lane, .key = key, .ns = ns};

	walk->now_ns = from_ns < walk->now_ns ? from_ns : walk->now_ns;
	walk->path->all_ns += ns;
	walk->path->class_ns[hk_work_class_of(walk->history, key)] += ns;
	return ns > 0 ? hk_work_rows_add(&walk->path->rows, &row) : 0;
}

static const struct hk_lane *lane_of(const struct walk *walk)
{
	return &walk->history->lanes[walk->lane];
}

/* Returns the last wait of the lane that ended by now, NULL if no wait did. Counts the waits that
 * it leaves out because the clocks do not say who was last. */
static const struct hk_lane_wait *last_wait(struct walk *walk)
{
	const struct hk_lane *lane = lane_of(walk);
	size_t low = 0, high = lane->wait_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (lane->waits[middle] < walk->limit) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	while (low-- > 0) {
		const struct hk_lane_wait *wait = &walk->history->waits[lane->waits[low]];
		if (wait->until_ns <= walk->now_ns && wait->certain) {
			return wait;
		}
		walk->limit = lane->waits[low];
		walk->path->unsure += wait->until_ns <= walk->now_ns;
	}
	return NULL;
}

/* ---- devices ---- */

/* Returns the work of the lane's devices that ended last between FROM_NS and TO_NS, NULL if none
 * did. Work is sorted by stream, then end. */
static const struct hk_device_piece *device_last(const struct hk_lane *lane, uint64_t from_ns,
						 uint64_t to_ns)
{
	const struct hk_device_piece *list = lane->device, *last = NULL;

	for (size_t stream = 0; stream < lane->device_count;) {
		size_t low = stream, high = lane->device_count;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			bool before = list[middle].stream == list[stream].stream &&
				      list[middle].end_ns <= to_ns;
			low = before ? middle + 1 : low;
			high = before ? high : middle;
		}
		const struct hk_device_piece *piece = low > stream ? &list[low - 1] : NULL;
		if (piece && piece->end_ns > from_ns && (!last || piece->end_ns > last->end_ns)) {
			last = piece;
		}
		high = lane->device_count;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			bool same = list[middle].stream == list[stream].stream;
			low = same ? middle + 1 : low;
			high = same ? high : middle;
		}
		stream = low;
	}
	return last;
}

/* Returns the work that PIECE had to wait for: the one before it on its stream if that ended behind
 * PIECE's submission. Or work on another stream that ended at about PIECE's start, nearer to that
 * than to its submission. NULL if it waited for none. */
static const struct hk_device_piece *device_before(const struct hk_lane *lane,
						   const struct hk_device_piece *piece)
{
	const struct hk_device_piece *before = piece > lane->device ? piece - 1 : NULL;
	uint64_t start_ns = piece->start_ns, submitted_ns = piece->submitted_ns;

	if (before && before->stream == piece->stream && before->end_ns <= start_ns + OVERLAP_NS &&
	    before->end_ns >= submitted_ns) {
		return before;
	}
	before = submitted_ns > 0 && submitted_ns < start_ns
		     ? device_last(lane, submitted_ns, start_ns - 1)
		     : NULL;
	return before && start_ns - before->end_ns < before->end_ns - submitted_ns ? before : NULL;
}

/* Follows PIECE and the work that it waited for, to where the host submitted it. */
static int device_follow(struct walk *walk, const struct hk_device_piece *piece)
{
	const struct hk_lane *lane = lane_of(walk);
	int rc = 0;

	while (rc == 0 && walk->now_ns > lane->begin_ns) {
		const struct hk_device_piece *before = device_before(lane, piece);
		uint64_t key = hk_work_call(piece->activity), from_ns = piece->start_ns;
		if (before) {
			from_ns = before->end_ns < from_ns ? before->end_ns : from_ns;
		} else if (piece->submitted_ns > 0 && piece->submitted_ns < from_ns) {
			from_ns = piece->submitted_ns;
		}
		rc = add(walk, key, from_ns > lane->begin_ns ? from_ns : lane->begin_ns);
		if (!before) {
			break;
		}
		piece = before;
	}
	return rc;
}

/* ---- ranks ---- */

/* Follows the lane back to FROM_NS, or through its devices to an earlier time. */
static int lane_follow(struct walk *walk, uint64_t from_ns)
{
	const struct hk_lane *lane = lane_of(walk);
	int rc = 0;

	while (rc == 0 && walk->now_ns > from_ns) {
		const struct hk_tile tile = hk_lane_before(lane, walk->now_ns);
		uint64_t start_ns = tile.start_ns > from_ns ? tile.start_ns : from_ns;
		bool syncs =
		    tile.activity < HK_ACTIVITIES && walk->history->activities[tile.activity].syncs;
		const struct hk_device_piece *device =
		    syncs ? device_last(lane, start_ns, walk->now_ns) : NULL;
		if (device) {
			rc = add(walk, tile.key, device->end_ns);
			rc = rc < 0 ? rc : device_follow(walk, device);
			/* Work without a length leaves the time where it was. */
			rc = rc == 0 && walk->now_ns >= device->end_ns
				 ? add(walk, tile.key, start_ns)
				 : rc;
		} else {
			rc = add(walk, tile.key, start_ns);
		}
	}
	return rc;
}

/* Follows the path to the next rank. Returns 1, 0 at its other end, or -ENOMEM. */
static int step(struct walk *walk)
{
	const struct hk_lane *lane = lane_of(walk);
	int rc = 0;

	if (walk->now_ns > lane->doubt_ns) {
		rc = add(walk, HK_WORK_UNKNOWN_KEY,
			 lane->doubt_ns > lane->begin_ns ? lane->doubt_ns : lane->begin_ns);
	}
	const struct hk_lane_wait *wait = rc == 0 ? last_wait(walk) : NULL;
	uint64_t from_ns = wait ? wait->until_ns : lane->begin_ns;
	from_ns = from_ns > lane->begin_ns ? from_ns : lane->begin_ns;
	rc = rc < 0 ? rc : lane_follow(walk, from_ns);
	if (rc < 0 || walk->now_ns <= lane->begin_ns) {
		return rc;
	}
	if (walk->now_ns < from_ns || !wait) {
		return 1; /* through a device to before the wait */
	}
	walk->lane = wait->awaited;
	walk->limit = (size_t)(wait - walk->history->waits);
	walk->path->jumps++;
	walk->path->unsure += wait->rivalled;
	return 1;
}

int hk_path_find(const struct hk_history *history, struct hk_path *ret_path)
{
	struct walk walk = {.history = history, .path = ret_path, .limit = history->wait_count};
	int rc;

	*ret_path = (struct hk_path){.last = -1};
	for (size_t i = 0; i < history->lane_count; i++) {
		const struct hk_lane *lane = &history->lanes[i];
		if (lane->piece_count > 0 && lane->end_ns > walk.now_ns) {
			walk.lane = i;
			walk.now_ns = lane->end_ns;
			ret_path->last = lane->rank;
		}
	}
	if (ret_path->last < 0) {
		return hk_work_rows_finish(&ret_path->rows);
	}
	while ((rc = step(&walk)) > 0) {
	}
	return rc < 0 ? rc : hk_work_rows_finish(&ret_path->rows);
}

void hk_path_fini(struct hk_path *path)
{
	hk_work_rows_fini(&path->rows);
}
