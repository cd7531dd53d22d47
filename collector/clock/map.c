#include "collector/clock/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/clock/fit.h"
#include "report/clock/clock_map.h"

/* Most ns that omitted corners may add to the error of a stretch while there is room for all
 * corners. */
#define GIVE_UP_NS 2000u

static double offset_between(const struct hk_clock_map *map, size_t left, size_t right,
			     uint64_t at_ns)
{
	double run = (double)(map->at_ns[right] - map->at_ns[left]);
	double rise = (double)(map->offset_ns[right] - map->offset_ns[left]);
	return rise * ((double)(at_ns - map->at_ns[left]) / run);
}

/* Returns the ns by which the line between its neighbours misses corner I. */
static uint64_t missed_by(const struct hk_clock_map *map, size_t i)
{
	double line = offset_between(map, i - 1, i + 1, map->at_ns[i]);
	double off = fabs((double)(map->offset_ns[i] - map->offset_ns[i - 1]) - line);
	return off < (double)INT64_MAX ? (uint64_t)ceil(off) : (uint64_t)INT64_MAX;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t given_up_without(const struct hk_clock_map *map, size_t i)
{
	return larger(map->given_up_ns[i - 1], map->given_up_ns[i]) + missed_by(map, i);
}

/* Removes corner I, which has two neighbours. The joined stretch has the errors of both. */
static void leave_out(struct hk_clock_map *map, size_t i)
{
	uint64_t missed = missed_by(map, i);
	map->given_up_ns[i - 1] = given_up_without(map, i);
	map->fit_error_ns[i - 1] = larger(map->fit_error_ns[i - 1], map->fit_error_ns[i]) + missed;
	map->bound_ns[i - 1] = larger(map->bound_ns[i - 1], map->bound_ns[i]) + missed;
	size_t rest = map->count - i - 1;
	memmove(&map->at_ns[i], &map->at_ns[i + 1], rest * sizeof(map->at_ns[0]));
	memmove(&map->offset_ns[i], &map->offset_ns[i + 1], rest * sizeof(map->offset_ns[0]));
	memmove(&map->fit_error_ns[i], &map->fit_error_ns[i + 1],
		rest * sizeof(map->fit_error_ns[0]));
	memmove(&map->bound_ns[i], &map->bound_ns[i + 1], rest * sizeof(map->bound_ns[0]));
	memmove(&map->given_up_ns[i], &map->given_up_ns[i + 1], rest * sizeof(map->given_up_ns[0]));
	map->count--;
}

/* Makes room for one more corner. */
static void thin(struct hk_clock_map *map)
{
	if (map->count < HK_CLOCK_CORNERS) {
		return;
	}
	size_t best = 1;
	for (size_t i = 2; i + 1 < map->count; i++) {
		if (given_up_without(map, i) < given_up_without(map, best)) {
			best = i;
		}
	}
	leave_out(map, best);
}

static void put(struct hk_clock_map *map, const struct hk_clock_corner *corner)
{
	size_t i = map->count++;
	map->at_ns[i] = corner->at_ns;
	map->offset_ns[i] = corner->offset_ns;
	map->fit_error_ns[i] = corner->fit_error_ns;
	map->bound_ns[i] = corner->bound_ns;
	map->given_up_ns[i] = 0;
}

/* Errors that a stretch may have although both its ends are right. */
struct astray {
	uint64_t fit_ns, bound_ns;
};

/* Adds CORNER if it is later than the last one. */
static bool add(struct hk_clock_map *map, const struct hk_clock_corner *corner,
		const struct astray *astray)
{
	struct hk_clock_corner raised = *corner;
	if (map->count > 0) {
		size_t last = map->count - 1;
		if (corner->at_ns <= map->at_ns[last]) {
			return false;
		}
		int64_t least =
		    map->offset_ns[last] - (int64_t)(corner->at_ns - map->at_ns[last]) + 1;
		raised.offset_ns = corner->offset_ns > least ? corner->offset_ns : least;
		map->fit_error_ns[last] =
		    larger(map->fit_error_ns[last], corner->fit_error_ns) + astray->fit_ns;
		map->bound_ns[last] =
		    larger(map->bound_ns[last], corner->bound_ns) + astray->bound_ns;
	}
	put(map, &raised);
	return true;
}

/* Returns the errors of the stretch from the last corner to AT_NS: the clock's rate may change
 * gradually, or halfway at once. */
static struct astray astray_to(const struct hk_clock_map *map, uint64_t at_ns)
{
	if (map->count == 0 || at_ns <= map->at_ns[map->count - 1]) {
		return (struct astray){0};
	}
	double run = (double)(at_ns - map->at_ns[map->count - 1]);
	double wander = run * HK_CLOCK_WANDER / 4;
	return (struct astray){
	    .fit_ns = (uint64_t)ceil(fmin(run * run * HK_CLOCK_BEND / 8, wander)),
	    .bound_ns = (uint64_t)ceil(wander),
	};
}

void hk_clock_map_append(struct hk_clock_map *map, const struct hk_clock_corner *corner)
{
	thin(map);
	const struct astray astray = astray_to(map, corner->at_ns);
	if (add(map, corner, &astray) && map->count > 2 &&
	    given_up_without(map, map->count - 2) <= GIVE_UP_NS) {
		leave_out(map, map->count - 2);
	}
}

/* Returns the ns by which CORNER is off the extension of MAP's last stretch. */
static uint64_t surprise(const struct hk_clock_map *map, const struct hk_clock_corner *corner)
{
	if (map->count == 0 || corner->at_ns <= map->at_ns[map->count - 1]) {
		return 0;
	}
	size_t last = map->count - 1;
	double drift = (double)map->drift_ppb * 1e-9;
	if (last > 0) {
		drift = offset_between(map, last - 1, last, map->at_ns[last - 1] + 1);
	}
	double expected = drift * (double)(corner->at_ns - map->at_ns[last]);
	double moved = (double)(corner->offset_ns - map->offset_ns[last]);
	return (uint64_t)fmin(fabs(moved - expected), (double)INT64_MAX / 4);
}

void hk_clock_map_resume(struct hk_clock_map *map, const struct hk_clock_corner *corner)
{
	struct astray astray = astray_to(map, corner->at_ns);
	thin(map);
	uint64_t surprised_ns = surprise(map, corner);
	astray.fit_ns += surprised_ns;
	astray.bound_ns += astray.bound_ns + surprised_ns;
	add(map, corner, &astray);
}

static struct hk_clock_corner corner_of(const struct hk_clock_map *map, size_t i)
{
	return (struct hk_clock_corner){
	    .at_ns = map->at_ns[i],
	    .offset_ns = map->offset_ns[i],
	    .fit_error_ns = map->fit_error_ns[i],
	    .bound_ns = map->bound_ns[i],
	};
}

void hk_clock_map_join(struct hk_clock_map *map, const struct hk_clock_map *later)
{
	if (later->count == 0) {
		return;
	}
	if (memcmp(map->root_boot, later->root_boot, sizeof(map->root_boot)) != 0) {
		map->count = 0;
	}
	size_t kept = map->count;
	while (kept > 0 && map->at_ns[kept - 1] >= later->at_ns[0]) {
		kept--;
	}
	bool same = kept < map->count && map->at_ns[kept] == later->at_ns[0];
	map->count = kept;
	for (size_t i = 0; i < later->count; i++) {
		struct hk_clock_corner corner = corner_of(later, i);
		thin(map);
		if (i == 0 && !same) {
			hk_clock_map_resume(map, &corner);
		} else {
			/* The errors belong to stretches already. */
			put(map, &corner);
			map->given_up_ns[map->count - 1] = later->given_up_ns[i];
		}
	}
	map->drift_ppb = later->drift_ppb;
	map->drift_error_ppb = later->drift_error_ppb;
	map->probes = later->probes;
	memcpy(map->root_boot, later->root_boot, sizeof(map->root_boot));
}

/* Reads MESSAGE. Returns false with an empty map if it is not valid (hk_report_map_valid). Beyond
 * the room for corners, the corners with the least distance are left out. */
static bool map_load(struct hk_clock_map *map, const Hk__ClockMap *message)
{
	memset(map, 0, sizeof(*map));
	if (!hk_report_map_valid(message) || message->root_boot.len != HK_CLOCK_BOOT_BYTES) {
		return false;
	}
	for (size_t i = 0; i < message->n_monotonic_ns; i++) {
		thin(map);
		put(map, &(struct hk_clock_corner){
			     .at_ns = message->monotonic_ns[i],
			     .offset_ns = message->offset_ns[i],
			     .fit_error_ns = message->fit_error_ns[i],
			     .bound_ns = message->bound_ns[i],
			 });
	}
	map->drift_ppb = message->drift_ppb;
	map->drift_error_ppb = message->drift_error_ppb;
	map->probes = message->probes;
	memcpy(map->root_boot, message->root_boot.data, HK_CLOCK_BOOT_BYTES);
	return true;
}

void hk_clock_map_show(struct hk_clock_map *map, Hk__ClockMap *ret_message)
{
	hk__clock_map__init(ret_message);
	ret_message->n_monotonic_ns = ret_message->n_offset_ns = map->count;
	ret_message->n_fit_error_ns = ret_message->n_bound_ns = map->count;
	ret_message->monotonic_ns = map->at_ns;
	ret_message->offset_ns = map->offset_ns;
	ret_message->fit_error_ns = map->fit_error_ns;
	ret_message->bound_ns = map->bound_ns;
	ret_message->drift_ppb = map->drift_ppb;
	ret_message->drift_error_ppb = map->drift_error_ppb;
	ret_message->probes = map->probes;
	ret_message->root_boot.data = map->root_boot;
	ret_message->root_boot.len = HK_CLOCK_BOOT_BYTES;
}

/* Makes a message whose lists have room for any map. Returns NULL if out of memory. */
static Hk__ClockMap *message_new(void)
{
	Hk__ClockMap *message = malloc(sizeof(*message));
	if (!message) {
		return NULL;
	}
	hk__clock_map__init(message);
	message->monotonic_ns = calloc(HK_CLOCK_CORNERS, sizeof(*message->monotonic_ns));
	message->offset_ns = calloc(HK_CLOCK_CORNERS, sizeof(*message->offset_ns));
	message->fit_error_ns = calloc(HK_CLOCK_CORNERS, sizeof(*message->fit_error_ns));
	message->bound_ns = calloc(HK_CLOCK_CORNERS, sizeof(*message->bound_ns));
	message->root_boot.data = malloc(HK_CLOCK_BOOT_BYTES);
	if (!message->monotonic_ns || !message->offset_ns || !message->fit_error_ns ||
	    !message->bound_ns || !message->root_boot.data) {
		hk__clock_map__free_unpacked(message, NULL);
		return NULL;
	}
	message->root_boot.len = HK_CLOCK_BOOT_BYTES;
	return message;
}

static void copy_to(Hk__ClockMap *message, const struct hk_clock_map *map)
{
	memcpy(message->monotonic_ns, map->at_ns, map->count * sizeof(map->at_ns[0]));
	memcpy(message->offset_ns, map->offset_ns, map->count * sizeof(map->offset_ns[0]));
	memcpy(message->fit_error_ns, map->fit_error_ns, map->count * sizeof(map->fit_error_ns[0]));
	memcpy(message->bound_ns, map->bound_ns, map->count * sizeof(map->bound_ns[0]));
	memcpy(message->root_boot.data, map->root_boot, HK_CLOCK_BOOT_BYTES);
	message->n_monotonic_ns = message->n_offset_ns = map->count;
	message->n_fit_error_ns = message->n_bound_ns = map->count;
	message->drift_ppb = map->drift_ppb;
	message->drift_error_ppb = map->drift_error_ppb;
	message->probes = map->probes;
}

bool hk_clock_map_merge(Hk__ClockMap **kept, const Hk__ClockMap *update, bool fresh)
{
	struct hk_clock_map map = {0}, later;
	if (!map_load(&later, update)) {
		return false;
	}
	if (!fresh) {
		map_load(&map, *kept);
	}
	size_t last = map.count;
	if (last > 0 && map.at_ns[last - 1] == later.at_ns[later.count - 1] &&
	    map.probes == later.probes) {
		return false; /* the map did not change */
	}
	hk_clock_map_join(&map, &later);
	/* The lists of a received message have no room to grow. */
	Hk__ClockMap *message = message_new();
	if (!message) {
		return false;
	}
	copy_to(message, &map);
	if (*kept) {
		hk__clock_map__free_unpacked(*kept, NULL);
	}
	*kept = message;
	return true;
}
