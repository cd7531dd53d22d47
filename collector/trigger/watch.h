/* watch.h: whether the conditions of a job hold, from the values of its processes.
 *
 * A look begins, gets the processes one by one, and ends. Values are cumulative: a look compares
 * them with those of the process's last look, so each condition is about the calls in between,
 * about a second. A process whose values are the same as at the last look is left out. Conditions
 * about findings are not judged here. One thread.
 */
#ifndef HK_COLLECTOR_TRIGGER_WATCH_H
#define HK_COLLECTOR_TRIGGER_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"
#include "trigger/condition.h"

struct hk_watch;

/* What one condition saw in a look. */
struct hk_watch_saw {
	bool known; /* there was a value */
	bool holds;
	double value;	      /* of those that hold the largest, else the largest */
	int32_t rank;	      /* of that value */
	const char *function; /* the same; of the process's state; "": none */
};

/* CONDITIONS are borrowed. Returns NULL without memory. */
struct hk_watch *hk_watch_new(const struct hk_condition *conditions, size_t count);
/* Frees; accepts NULL, returns NULL. */
struct hk_watch *hk_watch_free(struct hk_watch *watch);

void hk_watch_begin(struct hk_watch *watch);
/* Looks at a process. Out of memory it is left out of this look, or its next one is longer. */
void hk_watch_process(struct hk_watch *watch, const Hk__Process *state);
/* Whether CONDITION is about a finding of a report, which the watch itself does not make. */
bool hk_watch_is_report_finding(const struct hk_condition *condition);
/* Notes in this look whether there is the finding of condition INDEX, and its rank, or -1. */
void hk_watch_note_finding(struct hk_watch *watch, size_t index, bool found, int32_t rank);

/* Returns what condition INDEX saw since the look began. */
const struct hk_watch_saw *hk_watch_saw(const struct hk_watch *watch, size_t index);

/* Returns the conditions, as bits, about a function that no process has hooked so far. */
uint32_t hk_watch_unseen(const struct hk_watch *watch);

/* Returns whether condition INDEX begins to hold with this look: it did not hold at the last look
 * that had a value. A death is an event: each one is a beginning. Call it once a look. */
bool hk_watch_begins(struct hk_watch *watch, size_t index);

#endif
