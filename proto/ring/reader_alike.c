/* Many records of one kind and size at once. */
#include "base/vectors.h"
#include "ring/reader_map.h"

static inline __attribute__((always_inline)) bool alike(const uint64_t *words, size_t size,
							uint64_t like)
{
	uint64_t other = 0, escape = 0;

	for (size_t i = 0; i < HK_ALIKE_STEP; i++) {
		uint64_t word = words[i * size + 1];
		other |= word >> HK_RECORD_KIND_SHIFT ^ like;
		escape |= (uint64_t)(uint32_t)word + 1; /* bit 32: the escape */
	}
	static_assert(HK_DURATION_ESCAPE == UINT32_MAX, "one more leaves its 32 bits");
	return !(other | escape >> 32);
}

/* Of a size that the compiler knows the loads are shuffles. */
HK_WIDEST_VECTORS
bool hk_records_alike(const uint64_t *words, size_t size, uint64_t like)
{
	switch (size) {
	case 2:
		return alike(words, 2, like);
	case 3:
		return alike(words, 3, like);
	case 4:
		return alike(words, 4, like);
	default:
		return alike(words, size, like);
	}
}
