/* clock_slack.h: the range of a node's clock errors that collective calls allow, in each window of
 * a job. Each call limits the error at one moment from below or above. At other moments the limit
 * is wider, by the speed at which the error can change. Plain values without memory of their own,
 * locked by the caller. */
#ifndef HK_REPORT_CLOCK_CLOCK_SLACK_H
#define HK_REPORT_CLOCK_CLOCK_SLACK_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

#define HK_CLOCK_SLACK_WINDOWS 1024u
/* Times and errors are clamped to this distance from 0. A limit at this distance is no limit. */
#define HK_CLOCK_SLACK_MAX_NS (INT64_C(1) << 61)

struct hk_clock_slack_window {
	int64_t low_ns,
	    high_ns; /* mapped time minus true time; low > high: the limits contradict each other */
};

struct hk_clock_slack {
	int64_t from_ns, window_ns;
	struct hk_clock_slack_window windows[HK_CLOCK_SLACK_WINDOWS];
};

/* Starts without limits on the errors at the times `from_ns` to `to_ns`. */
void hk_clock_slack_init(struct hk_clock_slack *slack, int64_t from_ns, int64_t to_ns);

/* Set a limit: the error at `at_ns` is at least, or at most, `error_ns`. Moments outside of the
 * windows are ignored. */
void hk_clock_slack_low(struct hk_clock_slack *slack, int64_t at_ns, int64_t error_ns);
void hk_clock_slack_high(struct hk_clock_slack *slack, int64_t at_ns, int64_t error_ns);

/* Adds the limits of OTHER, which was initialised with the same times. */
void hk_clock_slack_join(struct hk_clock_slack *slack, const struct hk_clock_slack *other);

/* Applies the limits of each window to all others, widened by the distance: the error changes by at
 * most `rate_ppb`. Call it once. */
void hk_clock_slack_spread(struct hk_clock_slack *slack, uint64_t rate_ppb);

/* Returns the highest speed in ppb at which the errors of MAP can change. MAP must be valid. */
uint64_t hk_clock_slack_rate_ppb(const Hk__ClockMap *map);

/* Lowers the bounds of MAP, and the fit errors that exceed them, to what SLACK allows. SLACK must
 * have been spread; its times are mapped times minus `origin_ns`. `other_ns` is the error of the
 * clock that SLACK compares with. A stretch of MAP keeps its bound if a window in it lacks a limit
 * or contradicts itself. */
void hk_clock_slack_tighten(const struct hk_clock_slack *slack, int64_t origin_ns,
			    uint64_t other_ns, Hk__ClockMap *map);

#endif
