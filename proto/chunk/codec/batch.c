#include "chunk/codec/batch.h"

#include "base/varint.h"
#include "base/vectors.h"
#include "chunk/codec/format.h"

#define RAW_KIND_SHIFT 52

static inline __attribute__((always_inline)) bool
gather(const uint64_t *restrict words, size_t size, uint64_t like, uint64_t *restrict starts,
       uint64_t *restrict durations, uint32_t *restrict shapes)
{
	uint64_t other = 0, slack = 0;

	for (size_t i = 0; i < HK_BATCH_STEP; i++) {
		uint64_t word = words[i * size + 1];
		starts[i] = words[i * size];
		durations[i] = (uint32_t)word;
		shapes[i] = (uint32_t)(word >> 32);
		other |= word >> RAW_KIND_SHIFT ^ like;
		slack |= (uint64_t)HK_CHUNK_LONG_NS - (uint32_t)word; /* top bit: a long call */
	}
	return !(other | slack >> 63);
}

/* With a constant size the compiler turns the loads into shuffles. */
HK_WIDEST_VECTORS
bool hk_batch_gather(const uint64_t *words, size_t size, uint64_t like, uint64_t *ret_starts,
		     uint64_t *ret_durations, uint32_t *ret_shapes)
{
	switch (size) {
	case 2:
		return gather(words, 2, like, ret_starts, ret_durations, ret_shapes);
	case 3:
		return gather(words, 3, like, ret_starts, ret_durations, ret_shapes);
	case 4:
		return gather(words, 4, like, ret_starts, ret_durations, ret_shapes);
	default:
		return gather(words, size, like, ret_starts, ret_durations, ret_shapes);
	}
}

HK_WIDEST_VECTORS
uint64_t hk_batch_differences(const uint64_t *restrict starts, uint32_t count, uint64_t previous,
			      uint64_t *restrict ret_differences)
{
	uint64_t least = starts[0];

	ret_differences[0] = hk_zigzag(starts[0] - previous);
	for (uint32_t i = 1; i < count; i++) {
		ret_differences[i] = hk_zigzag(starts[i] - starts[i - 1]);
		least = starts[i] < least ? starts[i] : least;
	}
	return least;
}

HK_WIDEST_VECTORS
uint32_t hk_batch_unlike(const uint32_t *shapes, uint32_t count)
{
	uint32_t other = 0;

	for (uint32_t i = 1; i < count; i++) {
		other |= shapes[i] ^ shapes[0];
	}
	return other;
}

HK_WIDEST_VECTORS
uint64_t hk_batch_latest_end(const uint64_t *starts, const uint64_t *durations, uint32_t count,
			     uint64_t ticks_per_ns_q32)
{
	uint64_t latest = 0, wrapped = 0;

	for (uint32_t i = 0; i < count; i++) {
		/* The addend is below 2^32: a sum that wraps has lost its top bit. */
		uint64_t end = starts[i] + (durations[i] * ticks_per_ns_q32 >> 32);
		wrapped |= starts[i] & ~end;
		latest = end > latest ? end : latest;
	}
	return wrapped >> 63 ? UINT64_MAX : latest;
}
