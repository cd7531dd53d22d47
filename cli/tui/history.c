#include "cli/tui/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#define SECOND_NS 1000000000u
#define FORGET_NS (120 * (uint64_t)SECOND_NS)
#define PATIENCE_NS (10 * (uint64_t)SECOND_NS) /* with counts that have fallen */
#define STEADY_S 5.0

struct entry {
	UT_hash_handle hh;
	char *key;
	uint64_t counts[HK_TRACK_COUNTS], counted_ns[HK_TRACK_COUNTS]; /* 0: never */
	uint64_t seen_ns; /* time of the sample that last counted it; 0: none */
	struct hk_track track;
};

struct hk_history {
	struct entry *entries;
	uint64_t now_ns, before_ns; /* time of this sample and of the one before; 0: none */
	bool whole;
};

struct hk_history *hk_history_new(void)
{
	return calloc(1, sizeof(struct hk_history));
}

static void entry_free(struct hk_history *history, struct entry *entry)
{
	HASH_DEL(history->entries, entry);
	free(entry->key);
	free(entry);
}

struct hk_history *hk_history_free(struct hk_history *history)
{
	struct entry *entry, *next;

	if (history) {
		HASH_ITER (hh, history->entries, entry, next) {
			entry_free(history, entry);
		}
		free(history);
	}
	return NULL;
}

void hk_history_begin(struct hk_history *history, uint64_t now_ns, bool whole)
{
	struct entry *entry, *next;

	history->whole = whole;
	if (now_ns != history->now_ns) {
		history->before_ns = history->now_ns < now_ns ? history->now_ns : 0;
		history->now_ns = now_ns;
	}
	HASH_ITER (hh, history->entries, entry, next) {
		if (entry->seen_ns + FORGET_NS < now_ns) {
			entry_free(history, entry);
		}
	}
}

bool hk_history_is_now(const struct hk_history *history)
{
	return history->before_ns > 0 && !history->whole;
}

static struct entry *entry_get(struct hk_history *history, const char *key)
{
	struct entry *entry;

	HASH_FIND_STR(history->entries, key, entry);
	if (entry) {
		return entry;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry || !(entry->key = strdup(key))) {
		free(entry);
		return NULL;
	}
	for (size_t i = 0; i < HK_TRACK_SECONDS; i++) {
		entry->track.ring[i] = NAN;
	}
	entry->track.second = history->before_ns / SECOND_NS;
	HASH_ADD_KEYPTR(hh, history->entries, entry->key, strlen(entry->key), entry);
	if (!entry->hh.tbl) {
		free(entry->key);
		free(entry);
		return NULL;
	}
	return entry;
}

/* Puts the rate between two samples into all seconds between them. */
static void ring_put(struct hk_track *track, uint64_t second, double rate)
{
	uint64_t from = track->second + 1;

	if (second >= HK_TRACK_SECONDS && from <= second - HK_TRACK_SECONDS) {
		from = second - HK_TRACK_SECONDS + 1;
	}
	track->ring[second % HK_TRACK_SECONDS] = rate;
	for (uint64_t s = from; s < second; s++) {
		track->ring[s % HK_TRACK_SECONDS] = rate;
	}
	track->second = second;
}

/* Returns whether COUNT number I is older than the last known one. */
static bool is_behind(const struct hk_history *history, const struct entry *entry, size_t i,
		      uint64_t count)
{
	uint64_t counted_ns = entry->counted_ns[i];

	return !history->whole && counted_ns > 0 && history->now_ns < counted_ns + PATIENCE_NS &&
	       (count < entry->counts[i] || history->now_ns < counted_ns);
}

static void count_one(const struct hk_history *history, struct entry *entry, size_t i,
		      uint64_t count)
{
	struct hk_track *track = &entry->track;
	uint64_t counted_ns = entry->counted_ns[i];
	uint64_t since = history->whole ? 0 : counted_ns > 0 ? counted_ns : history->before_ns;
	uint64_t before = history->whole ? 0 : entry->counts[i];
	uint64_t grown = count > before ? count - before : 0;
	double span_s = (double)(history->now_ns - since) / SECOND_NS;

	track->per_s[i] = span_s > 0 ? (double)grown / span_s : 0;
	track->steady_per_s[i] +=
	    (track->per_s[i] - track->steady_per_s[i]) *
	    (counted_ns > 0 && !history->whole ? 1 - exp(-span_s / STEADY_S) : 1);
	entry->counts[i] = count;
	entry->counted_ns[i] = history->now_ns;
}

const struct hk_track *hk_history_count(struct hk_history *history, const char *key,
					const uint64_t counts[HK_TRACK_COUNTS])
{
	struct entry *entry = entry_get(history, key);

	if (!entry) {
		return NULL;
	}
	if (entry->seen_ns == history->now_ns && entry->seen_ns != 0) {
		return &entry->track; /* the same sample again: rates stay */
	}
	bool behind = is_behind(history, entry, 0, counts[0]);
	for (size_t i = 0; i < HK_TRACK_COUNTS; i++) {
		if (is_behind(history, entry, i, counts[i])) {
			entry->track.per_s[i] = 0;
		} else {
			count_one(history, entry, i, counts[i]);
		}
	}
	entry->seen_ns = history->now_ns;
	if (behind) {
		return &entry->track; /* its seconds get the mean once it has caught up */
	}
	if (hk_history_is_now(history)) {
		ring_put(&entry->track, history->now_ns / SECOND_NS, entry->track.per_s[0]);
	} else {
		entry->track.second = history->now_ns / SECOND_NS;
	}
	return &entry->track;
}

double hk_track_part(const struct hk_track *track, size_t part, size_t parts)
{
	size_t from = part * HK_TRACK_SECONDS / parts, to = (part + 1) * HK_TRACK_SECONDS / parts;
	double sum = 0;
	size_t known = 0;

	for (size_t i = from; i < to; i++) {
		/* The oldest second is the one behind the newest in the ring. */
		double rate = track->ring[(track->second + 1 + i) % HK_TRACK_SECONDS];
		if (!isnan(rate)) {
			sum += rate;
			known++;
		}
	}
	return known > 0 ? sum / (double)known : NAN;
}
