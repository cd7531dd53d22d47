/* collective_wait.h: how ranks wait for each other in one collective call, from the times of its
 * parts.
 *
 * The rules for readers of records and for the root of a running job. All times are on one clock.
 * Pure functions, any thread.
 */
#ifndef HK_REPORT_WAIT_COLLECTIVE_WAIT_H
#define HK_REPORT_WAIT_COLLECTIVE_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/wait/pattern.h"

/* One rank's call. */
struct hk_wait_part {
	int32_t rank;
	bool is_root;
	uint64_t start_ns, end_ns;
	uint64_t error_ns; /* upper limit of the error of both times */
};

struct hk_wait_parts {
	enum hk_wait_pattern pattern;
	const struct hk_wait_part *list;
	size_t count;
};

/* Returns the part that the others wait for, NULL if it is unknown. */
const struct hk_wait_part *hk_wait_awaited(const struct hk_wait_parts *parts);

/* Returns whether a rank left before AWAITED had entered. The parts then belong to different calls,
 * or to one in which small messages pass at once. */
bool hk_wait_contradicts(const struct hk_wait_parts *parts, const struct hk_wait_part *awaited);

/* Returns how long PART waited for AWAITED in ns, 0 if it does not exceed the error of the clocks.
 */
uint64_t hk_wait_of(enum hk_wait_pattern pattern, const struct hk_wait_part *part,
		    const struct hk_wait_part *awaited);

#endif
