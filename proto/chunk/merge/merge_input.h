/* merge_input.h: what a merge is made of, and what it gives. Plain values. */
#ifndef HK_CHUNK_MERGE_MERGE_INPUT_H
#define HK_CHUNK_MERGE_MERGE_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "chunk/codec/record.h"

#define HK_MERGE_INPUTS_MAX 65536u

/* Ticks of a process to ns of the common clock: `convert` if set, which must never decrease, else
 * base_ns + ((ticks - base_ticks) * ns_per_tick_q32 >> 32). */
struct hk_merge_clock {
	uint64_t base_ticks;
	int64_t base_ns;
	uint64_t ns_per_tick_q32;
	int64_t (*convert)(const void *context, uint64_t ticks);
	const void *context;
};

struct hk_merge_input {
	/* Next records, sorted, at least one, lasting until the next call: 1; 0: no more; -errno.
	 */
	int (*batch)(void *context, const struct hk_record **ret_records, size_t *ret_count);
	void *context;
	struct hk_merge_clock clock;
};

struct hk_merged {
	int64_t start_ns;		/* on the common clock */
	uint32_t input;			/* index of the input */
	const struct hk_record *record; /* lasts until the next call */
};

/* Common-clock ns of a process's ticks. Here, because it is a step of every record. */
static inline int64_t hk_merge_clock_ns(const struct hk_merge_clock *clock, uint64_t ticks)
{
	if (clock->convert) {
		return clock->convert(clock->context, ticks);
	}
	/* Ticks before the base are negative; hostile ones only have to stay defined. */
	__int128 delta = (int64_t)(ticks - clock->base_ticks);
	__int128 ns = delta * (__int128)clock->ns_per_tick_q32 >> 32;
	return (int64_t)((uint64_t)clock->base_ns + (uint64_t)ns);
}

#endif
