/* history.h: computes rates from counts of successive samples. One history per table holds the
 * tracks of its rows by the rows' keys. A sample begins with its time; every row is then counted
 * once. Rates refer to the row's last count; in the first sample, to the job's start. A count that
 * falls, or has an earlier time, comes from a collector that has not read everything again yet: its
 * rate is 0. The next count that has caught up is compared with the one before the fall, unless
 * that is ten seconds old. The last 60 seconds of each row's first rate are kept for a sparkline;
 * seconds between two samples get the mean between them. Rows not counted for two minutes are
 * dropped. Locked by the caller. */
#ifndef HK_CLI_TUI_HISTORY_H
#define HK_CLI_TUI_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_TRACK_COUNTS 5u
#define HK_TRACK_SECONDS 60u

struct hk_track {
	double per_s[HK_TRACK_COUNTS];
	double steady_per_s[HK_TRACK_COUNTS]; /* the same over some seconds, for bursty counts */
	double ring[HK_TRACK_SECONDS];	      /* per_s[0] by second of the job; NAN: not sampled */
	uint64_t second;		      /* the newest of `ring` */
};

struct hk_history;

/* Returns NULL if out of memory. */
struct hk_history *hk_history_new(void);
/* Frees HISTORY. Accepts NULL, returns NULL. */
struct hk_history *hk_history_free(struct hk_history *history);

/* Begins a sample at NOW_NS since the job's start. WHOLE: rates refer to the job's start, as for a
 * job that has ended. */
void hk_history_begin(struct hk_history *history, uint64_t now_ns, bool whole);

/* Returns whether rates are present ones: there was an earlier sample. */
bool hk_history_is_now(const struct hk_history *history);

/* Counts row KEY. Returns its track, which lasts until the next begin, or NULL without memory. */
const struct hk_track *hk_history_count(struct hk_history *history, const char *key,
					const uint64_t counts[HK_TRACK_COUNTS]);

/* Returns the mean rate of part PART of PARTS of the last 60 seconds, part 0 being the oldest; NAN:
 * unknown. */
double hk_track_part(const struct hk_track *track, size_t part, size_t parts);

#endif
