/* clock_slack.h: the range of a node's clock errors that collective calls allow, window by window
 * of a job. Each call limits the error at one moment from below or above. For other moments the
 * limit is weaker by the speed at which the error can change. Plain values, no memory of its
 * own. */
#ifndef HK_REPORT_CLOCK_CLOCK_SLACK_H
#define HK_REPORT_CLOCK_CLOCK_SLACK_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

#define HK_CLOCK_SLACK_WINDOWS 1024u
/* No time or error is farther from 0; errors that far say nothing. */
#define HK_CLOCK_SLACK_MAX_NS (INT64_C(1) << 61)

struct hk_clock_slack_window {
	int64_t low_ns, high_ns; /* mapped time less true time; low > high: it contradicts itself */
};

struct hk_clock_slack {
	int64_t from_ns, window_ns;
	struct hk_clock_slack_window windows[HK_CLOCK_SLACK_WINDOWS];
};

/* Starts with no knowledge about the times `from_ns` to `to_ns`. */
void hk_clock_slack_init(struct hk_clock_slack *slack, int64_t from_ns, int64_t to_ns);

/* The error at `at_ns` is at least, or at most, `error_ns`. Moments outside are ignored. */
void hk_clock_slack_low(struct hk_clock_slack *slack, int64_t at_ns, int64_t error_ns);
void hk_clock_slack_high(struct hk_clock_slack *slack, int64_t at_ns, int64_t error_ns);

/* Adds the ranges of OTHER, which covers the same times. */
void hk_clock_slack_join(struct hk_clock_slack *slack, const struct hk_clock_slack *other);

/* Applies each moment's limits to all others: the error changes by at most `rate_ppb`. Call it
 * once. */
void hk_clock_slack_spread(struct hk_clock_slack *slack, uint64_t rate_ppb);

/* Greatest speed of change of the errors of MAP, which is valid. */
uint64_t hk_clock_slack_rate_ppb(const Hk__ClockMap *map);

/* Makes MAP's bounds, and fit errors above them, as small as SLACK allows, which is of the mapped
 * times less `origin_ns`, and was spread. `other_ns`: how wrong the clock may be that SLACK is
 * against. Stretches of which too little is known, or what contradicts itself, stay. */
void hk_clock_slack_tighten(const struct hk_clock_slack *slack, int64_t origin_ns,
			    uint64_t other_ns, Hk__ClockMap *map);

#endif
