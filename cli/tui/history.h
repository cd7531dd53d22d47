/* history.h: what was counted at the last look, so that this look can say how fast it grows.
 *
 * One history per table: the tracks of its rows, by the rows' keys. A look is begun with its time;
 * every row is then counted once. Rates are those since the row was counted before, at the first
 * look those since the job's start. A count that falls, or is of an earlier time, is that of a
 * collector that has not read everything again yet: it has no rate, and the next one that does not
 * is compared with the one before the fall, unless that is ten seconds ago. The last 60 seconds of
 * each row's first rate are kept for a sparkline; seconds between two looks get the mean between
 * them. Rows that were not counted for two minutes are forgotten. Locked by the caller.
 */
#ifndef HK_CLI_TUI_HISTORY_H
#define HK_CLI_TUI_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_TRACK_COUNTS 5u
#define HK_TRACK_SECONDS 60u

struct hk_track {
	double per_s[HK_TRACK_COUNTS];
	double
	    steady_per_s[HK_TRACK_COUNTS]; /* the same over some seconds, for what comes in lumps */
	double ring[HK_TRACK_SECONDS]; /* of per_s[0], by second of the job; NAN: nobody looked */
	uint64_t second;	       /* the newest of `ring` */
};

struct hk_history;

/* NULL without memory. */
struct hk_history *hk_history_new(void);
/* Frees; accepts NULL, returns NULL. */
struct hk_history *hk_history_free(struct hk_history *history);

/* Begins a look at NOW_NS since the job's start. WHOLE: rates are those since then, as of a job
 * that has ended. */
void hk_history_begin(struct hk_history *history, uint64_t now_ns, bool whole);

/* Whether rates are of now: there was a look before. */
bool hk_history_is_now(const struct hk_history *history);

/* Counts row KEY; the track lasts until the next begin. NULL without memory. */
const struct hk_track *hk_history_count(struct hk_history *history, const char *key,
					const uint64_t counts[HK_TRACK_COUNTS]);

/* Mean rate of part PART of PARTS of the last 60 seconds, 0 being the oldest; NAN: unknown. */
double hk_track_part(const struct hk_track *track, size_t part, size_t parts);

#endif
