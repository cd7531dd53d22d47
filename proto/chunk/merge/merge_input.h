/* merge_input.h: inputs and output of a merge. Plain values. */
#ifndef HK_CHUNK_MERGE_MERGE_INPUT_H
#define HK_CHUNK_MERGE_MERGE_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "chunk/codec/record.h"

#define HK_MERGE_INPUTS_MAX 65536u

/* Converts ticks of a process to ns of the common clock: by `convert` if set, which must never
 * decrease, else base_ns + ((ticks - base_ticks) * ns_per_tick_q32 >> 32). */
struct hk_merge_clock {
	uint64_t base_ticks;
	int64_t base_ns;
	uint64_t ns_per_tick_q32;
	int64_t (*convert)(const void *context, uint64_t ticks);
	const void *context;
};

struct hk_merge_input {
	/* Next records, sorted, at least one, valid until the next call. Returns 1, 0 at the end,
	 * or -errno. */
	int (*batch)(void *context, const struct hk_record **ret_records, size_t *ret_count);
	void *context;
	struct hk_merge_clock clock;
};

struct hk_merged {
	int64_t start_ns;		/* on the common clock */
	uint32_t input;			/* index of the input */
	const struct hk_record *record; /* valid until the next call */
};

/* Common-clock ns of a process's ticks. Inline, because every record needs it. */
static inline int64_t hk_merge_clock_ns(const struct hk_merge_clock *clock, uint64_t ticks)
{
	if (clock->convert) {
		return clock->convert(clock->context, ticks);
	}
	/* Ticks before the base are negative; hostile values only need a defined result. */
	__int128 delta = (int64_t)(ticks - clock->base_ticks);
	__int128 ns = delta * (__int128)clock->ns_per_tick_q32 >> 32;
	return (int64_t)((uint64_t)clock->base_ns + (uint64_t)ns);
}

#endif
