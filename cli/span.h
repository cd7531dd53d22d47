/* span.h: the parts of a timeline that a user asks for: times and ranks as typed. Pure functions.
 */
#ifndef HK_CLI_SPAN_H
#define HK_CLI_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_SPAN_RANKS_MAX 256

struct hk_span_ranks {
	int32_t first, last;
};

/* "1.5", "1.5s", "200ms", "30us", "5ns", "2m", "1h": seconds without a unit. 0, or -EINVAL also for
 * what is negative or longer than 200 years. */
int hk_span_time(const char *text, int64_t *ret_ns);

/* Whether RANK is in one of the COUNT spans; of none, every rank is. */
bool hk_span_has_rank(const struct hk_span_ranks *ranks, size_t count, int32_t rank);

/* "0,4-7": fills RANKS and returns how many spans there are, 1..HK_SPAN_RANKS_MAX; -EINVAL: no such
 * list; -E2BIG. */
int hk_span_ranks(const char *text, struct hk_span_ranks ranks[HK_SPAN_RANKS_MAX]);

#endif
