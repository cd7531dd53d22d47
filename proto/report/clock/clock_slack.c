#include "report/clock/clock_slack.h"

#include <stdbool.h>

#include "report/clock/clock_map.h"

/* How much the rate of an intact clock may change while a job runs, beyond the error in its map. */
#define WANDER_PPB 1000u

static int64_t limited(__int128 ns)
{
	if (ns > HK_CLOCK_SLACK_MAX_NS) {
		return HK_CLOCK_SLACK_MAX_NS;
	}
	return ns < -HK_CLOCK_SLACK_MAX_NS ? -HK_CLOCK_SLACK_MAX_NS : (int64_t)ns;
}

void hk_clock_slack_init(struct hk_clock_slack *slack, int64_t from_ns, int64_t to_ns)
{
	slack->from_ns = limited(from_ns);
	to_ns = limited(to_ns);
	slack->window_ns =
	    to_ns > slack->from_ns ? (to_ns - slack->from_ns) / HK_CLOCK_SLACK_WINDOWS + 1 : 1;
	for (size_t i = 0; i < HK_CLOCK_SLACK_WINDOWS; i++) {
		slack->windows[i] =
		    (struct hk_clock_slack_window){-HK_CLOCK_SLACK_MAX_NS, HK_CLOCK_SLACK_MAX_NS};
	}
}

/* Returns the window that holds `at_ns`, or NULL if `at_ns` is outside of all windows. */
static struct hk_clock_slack_window *window_at(struct hk_clock_slack *slack, int64_t at_ns)
{
	int64_t since;
	if (__builtin_sub_overflow(at_ns, slack->from_ns, &since) || since < 0 ||
	    since / slack->window_ns >= HK_CLOCK_SLACK_WINDOWS) {
		return NULL;
	}
	return &slack->windows[since / slack->window_ns];
}

static void raise_low(struct hk_clock_slack_window *window, __int128 low_ns)
{
	if (low_ns > window->low_ns) {
		window->low_ns = limited(low_ns);
	}
}

static void cut_high(struct hk_clock_slack_window *window, __int128 high_ns)
{
	if (high_ns < window->high_ns) {
		window->high_ns = limited(high_ns);
	}
}

void hk_clock_slack_low(struct hk_clock_slack *slack, int64_t at_ns, int64_t error_ns)
{
	struct hk_clock_slack_window *window = window_at(slack, at_ns);
	if (window) {
		raise_low(window, error_ns);
	}
}

void hk_clock_slack_high(struct hk_clock_slack *slack, int64_t at_ns, int64_t error_ns)
{
	struct hk_clock_slack_window *window = window_at(slack, at_ns);
	if (window) {
		cut_high(window, error_ns);
	}
}

void hk_clock_slack_join(struct hk_clock_slack *slack, const struct hk_clock_slack *other)
{
	for (size_t i = 0; i < HK_CLOCK_SLACK_WINDOWS; i++) {
		raise_low(&slack->windows[i], other->windows[i].low_ns);
		cut_high(&slack->windows[i], other->windows[i].high_ns);
	}
}

/* Limits WINDOW to the range of FROM, widened by SLACK_NS. The error changes by at most SLACK_NS
 * within a window. */
static void hear(struct hk_clock_slack_window *window, const struct hk_clock_slack_window *from,
		 int64_t slack_ns)
{
	if (from->low_ns > -HK_CLOCK_SLACK_MAX_NS) {
		raise_low(window, (__int128)from->low_ns - slack_ns);
	}
	if (from->high_ns < HK_CLOCK_SLACK_MAX_NS) {
		cut_high(window, (__int128)from->high_ns + slack_ns);
	}
}

void hk_clock_slack_spread(struct hk_clock_slack *slack, uint64_t rate_ppb)
{
	struct hk_clock_slack_window *windows = slack->windows;
	int64_t slack_ns = limited((__int128)slack->window_ns * rate_ppb / 1000000000 + 1);
	/* Each limit holds at one moment of a window. Widened, it holds in the whole window. */
	for (size_t i = 0; i < HK_CLOCK_SLACK_WINDOWS; i++) {
		const struct hk_clock_slack_window heard = windows[i];
		windows[i] =
		    (struct hk_clock_slack_window){-HK_CLOCK_SLACK_MAX_NS, HK_CLOCK_SLACK_MAX_NS};
		hear(&windows[i], &heard, slack_ns);
	}
	for (size_t i = 1; i < HK_CLOCK_SLACK_WINDOWS; i++) {
		hear(&windows[i], &windows[i - 1], slack_ns);
	}
	for (size_t i = HK_CLOCK_SLACK_WINDOWS - 1; i > 0; i--) {
		hear(&windows[i - 1], &windows[i], slack_ns);
	}
}

uint64_t hk_clock_slack_rate_ppb(const Hk__ClockMap *map)
{
	uint64_t worst = 0;
	for (size_t i = 0; i + 1 < map->n_monotonic_ns; i++) {
		__int128 rise = (__int128)map->offset_ns[i + 1] - map->offset_ns[i];
		__int128 run = (__int128)map->monotonic_ns[i + 1] - map->monotonic_ns[i];
		__int128 bend = rise * 1000000000 / run - map->drift_ppb;
		uint64_t size = (uint64_t)limited(bend < 0 ? -bend : bend);
		worst = size > worst ? size : worst;
	}
	return worst + map->drift_error_ppb + WANDER_PPB;
}

/* Sets *RET_NS to the largest error that WINDOW allows. Returns false if a side has no limit, or if
 * the limits contradict each other. */
static bool largest(const struct hk_clock_slack_window *window, uint64_t *ret_ns)
{
	if (window->low_ns > window->high_ns || window->low_ns == -HK_CLOCK_SLACK_MAX_NS ||
	    window->high_ns == HK_CLOCK_SLACK_MAX_NS) {
		return false;
	}
	int64_t low = -window->low_ns, high = window->high_ns;
	*ret_ns = (uint64_t)(low > high ? low : high);
	return true;
}

/* Returns the bound that corner I needs so that the error at the times `from_ns` to `to_ns` is at
 * most `needed_ns`. Outside of the map a bound grows with the distance to the corner. */
static uint64_t at_corner(const Hk__ClockMap *map, size_t i, int64_t corner_ns, int64_t from_ns,
			  int64_t to_ns, uint64_t needed_ns)
{
	__int128 away = 0;
	if (i == 0 && to_ns < corner_ns) {
		away = (__int128)corner_ns - to_ns;
	} else if (i + 1 == map->n_monotonic_ns && from_ns > corner_ns) {
		away = (__int128)from_ns - corner_ns;
	}
	__int128 grown = away * map->drift_error_ppb / 1000000000;
	return grown > needed_ns ? 0 : needed_ns - (uint64_t)grown;
}

static void tighten_stretch(const struct hk_clock_slack *slack, int64_t origin_ns,
			    uint64_t other_ns, size_t i, Hk__ClockMap *map)
{
	size_t last = map->n_monotonic_ns - 1;
	int64_t begin = hk_report_map_root_ns(map, (int64_t)map->monotonic_ns[i]);
	int64_t end = i < last ? hk_report_map_root_ns(map, (int64_t)map->monotonic_ns[i + 1]) : 0;
	uint64_t needed = 0, here;
	bool any = false;
	for (size_t k = 0; k < HK_CLOCK_SLACK_WINDOWS; k++) {
		int64_t from_ns =
		    limited((__int128)slack->from_ns + origin_ns + (int64_t)k * slack->window_ns);
		int64_t to_ns = limited((__int128)from_ns + slack->window_ns);
		if ((i > 0 && to_ns < begin) || (i < last && from_ns > end)) {
			continue;
		}
		if (!largest(&slack->windows[k], &here)) {
			return;
		}
		here = at_corner(map, i, begin, from_ns, to_ns, here + other_ns);
		needed = here > needed ? here : needed;
		any = true;
	}
	if (any && needed < map->bound_ns[i]) {
		map->bound_ns[i] = needed;
		map->fit_error_ns[i] =
		    needed < map->fit_error_ns[i] ? needed : map->fit_error_ns[i];
	}
}

void hk_clock_slack_tighten(const struct hk_clock_slack *slack, int64_t origin_ns,
			    uint64_t other_ns, Hk__ClockMap *map)
{
	for (size_t i = 0; other_ns <= (uint64_t)HK_CLOCK_SLACK_MAX_NS && i < map->n_monotonic_ns;
	     i++) {
		tighten_stretch(slack, origin_ns, other_ns, i, map);
	}
}
