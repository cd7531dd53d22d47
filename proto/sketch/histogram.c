#include "sketch/histogram.h"

/* Counts come from shared memory: sums of hostile counts saturate, they do not wrap. */
static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Octaves 0 and 1 together are the exact range 0..63; from there each octave doubles the width. */
static uint32_t octave_shift(uint32_t bucket)
{
	uint32_t octave = bucket / HK_HISTOGRAM_OCTAVE_BUCKETS;

	return octave ? octave - 1 : 0;
}

uint64_t hk_histogram_lower_ns(uint32_t bucket)
{
	uint32_t shift = octave_shift(bucket);

	return (uint64_t)(bucket - (shift << 5)) << shift;
}

uint64_t hk_histogram_width_ns(uint32_t bucket)
{
	return 1ull << octave_shift(bucket);
}

void hk_histogram_add_octave(struct hk_histogram *histogram, uint32_t octave,
			     const uint64_t counts[HK_HISTOGRAM_OCTAVE_BUCKETS])
{
	if (octave >= HK_HISTOGRAM_OCTAVES) {
		return;
	}
	uint64_t *bucket = histogram->bucket + octave * HK_HISTOGRAM_OCTAVE_BUCKETS;
	for (uint32_t i = 0; i < HK_HISTOGRAM_OCTAVE_BUCKETS; i++) {
		bucket[i] = add_saturated(bucket[i], counts[i]);
	}
}

/* ceil(quantile * total), at least 1 and at most total; also if the quantile is NaN. */
static uint64_t rank_of(double quantile, uint64_t total)
{
	double exact = quantile * (double)total;

	if (!(exact > 1.0)) {
		return 1;
	}
	if (exact >= (double)total) {
		return total;
	}
	uint64_t rank = (uint64_t)exact;
	rank += (double)rank < exact;
	return rank < total ? rank : total;
}

uint64_t hk_histogram_sparse_quantile(const uint32_t *bucket, const uint64_t *count, size_t used,
				      double quantile)
{
	uint64_t total = 0, below = 0;
	size_t i = 0;

	for (size_t k = 0; k < used; k++) {
		total = add_saturated(total, count[k]);
	}
	if (!total) {
		return 0;
	}
	uint64_t rank = rank_of(quantile, total);
	while (i + 1 < used && (below = add_saturated(below, count[i])) < rank) {
		i++;
	}
	return hk_histogram_lower_ns(bucket[i]) + (hk_histogram_width_ns(bucket[i]) - 1) / 2;
}

bool hk_histogram_next(const struct hk_histogram *histogram, uint32_t *bucket)
{
	for (uint32_t i = *bucket; i < HK_HISTOGRAM_BUCKETS; i++) {
		if (histogram->bucket[i]) {
			*bucket = i;
			return true;
		}
	}
	return false;
}
