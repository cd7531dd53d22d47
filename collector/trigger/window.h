/* window.h: the calls of one site between two looks. Plain values. */
#ifndef HK_COLLECTOR_TRIGGER_WINDOW_H
#define HK_COLLECTOR_TRIGGER_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "sketch/histogram.h"
#include "trigger/condition.h"
#include "wire/columns.h"

struct hk_window {
	uint64_t calls, errors;
	uint64_t timed;	   /* calls whose latency is known */
	uint64_t total_ns; /* of calls */
	size_t buckets;
	uint32_t bucket[HK_HISTOGRAM_BUCKETS]; /* rising */
	uint64_t count[HK_HISTOGRAM_BUCKETS];
};

/* Sets WINDOW to the calls that are in NOW and not in BEFORE (or NULL: none), rows of one site. */
void hk_window_between(struct hk_window *window, const struct hk_columns_row *now,
		       const struct hk_columns_row *before);

/* Returns the ns of STATISTIC; WINDOW has timed calls. */
double hk_window_value(const struct hk_window *window, enum hk_condition_statistic statistic);

#endif
