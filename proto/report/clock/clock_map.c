#include "report/clock/clock_map.h"

/* Sums of a time and an offset stay within 63 bits. */
#define TIME_MAX (INT64_C(1) << 61)
#define DRIFT_MAX_PPB 500000000
#define DRIFT_ERROR_MAX_PPB 1000000000

bool hk_report_map_valid(const Hk__ClockMap *map)
{
	size_t count = map ? map->n_monotonic_ns : 0;
	if (count == 0 || map->n_offset_ns != count || map->n_fit_error_ns != count ||
	    map->n_bound_ns != count || map->drift_ppb > DRIFT_MAX_PPB ||
	    map->drift_ppb < -DRIFT_MAX_PPB || map->drift_error_ppb > DRIFT_ERROR_MAX_PPB) {
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (map->monotonic_ns[i] > TIME_MAX || map->offset_ns[i] > TIME_MAX ||
		    map->offset_ns[i] < -TIME_MAX || map->fit_error_ns[i] > TIME_MAX ||
		    map->bound_ns[i] > TIME_MAX) {
			return false;
		}
		if (i > 0 && (map->monotonic_ns[i] <= map->monotonic_ns[i - 1] ||
			      (int64_t)map->monotonic_ns[i] + map->offset_ns[i] <=
				  (int64_t)map->monotonic_ns[i - 1] + map->offset_ns[i - 1])) {
			return false;
		}
	}
	return true;
}

/* Returns the last corner that is not later than `node_ns`, or the first one if all are later. */
static size_t corner_before(const Hk__ClockMap *map, int64_t node_ns)
{
	size_t low = 0, high = map->n_monotonic_ns;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if ((int64_t)map->monotonic_ns[middle] <= node_ns) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return low;
}

static __int128 divide_down(__int128 dividend, __int128 divisor)
{
	__int128 quotient = dividend / divisor;
	return quotient * divisor > dividend ? quotient - 1 : quotient;
}

static int64_t saturate(__int128 ns)
{
	if (ns > INT64_MAX) {
		return INT64_MAX;
	}
	return ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}

int64_t hk_report_map_root_ns(const Hk__ClockMap *map, int64_t node_ns)
{
	size_t i = corner_before(map, node_ns);
	__int128 away = (__int128)node_ns - (int64_t)map->monotonic_ns[i];
	__int128 rise = map->drift_ppb, run = 1000000000;
	if (i + 1 < map->n_monotonic_ns) {
		rise = map->offset_ns[i + 1] - map->offset_ns[i];
		run = (int64_t)(map->monotonic_ns[i + 1] - map->monotonic_ns[i]);
	}
	return saturate(node_ns + (__int128)map->offset_ns[i] + divide_down(away * rise, run));
}

static void worsen(struct hk_report_error *worst, uint64_t fit_ns, uint64_t bound_ns)
{
	worst->fit_ns = fit_ns > worst->fit_ns ? fit_ns : worst->fit_ns;
	worst->bound_ns = bound_ns > worst->bound_ns ? bound_ns : worst->bound_ns;
}

/* Raises WORST to the errors `away_ns` outside of the map: those of corner I, grown by the drift's
 * error. */
static void worsen_outside(struct hk_report_error *worst, const Hk__ClockMap *map, size_t i,
			   __int128 away_ns)
{
	__int128 more = away_ns * map->drift_error_ppb / 1000000000;
	worsen(worst, (uint64_t)saturate(more + map->fit_error_ns[i]),
	       (uint64_t)saturate(more + map->bound_ns[i]));
}

struct hk_report_error hk_report_map_error(const Hk__ClockMap *map, int64_t from_ns, int64_t to_ns)
{
	struct hk_report_error worst = {0};
	size_t last = map->n_monotonic_ns - 1;
	__int128 before = (__int128)(int64_t)map->monotonic_ns[0] - from_ns;
	__int128 behind = (__int128)to_ns - (int64_t)map->monotonic_ns[last];
	for (size_t i = corner_before(map, from_ns);
	     i <= last && (i == 0 || (int64_t)map->monotonic_ns[i] <= to_ns); i++) {
		worsen(&worst, map->fit_error_ns[i], map->bound_ns[i]);
	}
	if (before > 0) {
		worsen_outside(&worst, map, 0, before);
	}
	if (behind > 0) {
		worsen_outside(&worst, map, last, behind);
	}
	return worst;
}
