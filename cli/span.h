/* span.h: parses the times and ranks by which a user selects a part of a timeline. Pure
 * functions. */
#ifndef HK_CLI_SPAN_H
#define HK_CLI_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_SPAN_RANKS_MAX 256

struct hk_span_ranks {
	int32_t first, last;
};

/* Parses a time such as "1.5", "1.5s", "200ms", "30us", "5ns", "2m", "1h": seconds without a unit.
 * Returns 0, or -EINVAL, also for negative times and those above 200 years. */
int hk_span_time(const char *text, int64_t *ret_ns);

/* Returns whether RANK is in one of the COUNT spans, or COUNT is 0. */
bool hk_span_has_rank(const struct hk_span_ranks *ranks, size_t count, int32_t rank);

/* Parses a list such as "0,4-7" into RANKS. Returns the number of spans, 1..HK_SPAN_RANKS_MAX,
 * -EINVAL for an invalid list, or -E2BIG for too many spans. */
int hk_span_ranks(const char *text, struct hk_span_ranks ranks[HK_SPAN_RANKS_MAX]);

#endif
