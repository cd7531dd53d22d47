/* histogram.h: a mergeable log-linear histogram of durations in nanoseconds.
 *
 * Buckets: v = d|32, s = msb(v)-5, index = (s<<5) + (d>>s), clamped to the last one: 32 buckets to
 * the octave, widths from 1 ns to 2^34 ns, exact below 64 ns. ring/segment.h has the formula
 * (hk_histogram_index), by which the agent counts in the cells of a segment, one block of 32
 * buckets per octave (octave = index>>5). A histogram is a plain value: copy it, zero it with {0},
 * keep it anywhere. Threading: locked by the caller.
 */
#ifndef HK_SKETCH_HISTOGRAM_H
#define HK_SKETCH_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_HISTOGRAM_OCTAVES 36u
#define HK_HISTOGRAM_OCTAVE_BUCKETS 32u
#define HK_HISTOGRAM_BUCKETS (HK_HISTOGRAM_OCTAVES * HK_HISTOGRAM_OCTAVE_BUCKETS)

struct hk_histogram {
	uint64_t bucket[HK_HISTOGRAM_BUCKETS];
};

/* Smallest duration in ns of a bucket below HK_HISTOGRAM_BUCKETS. */
uint64_t hk_histogram_lower_ns(uint32_t bucket);

/* Width in ns of a bucket below HK_HISTOGRAM_BUCKETS; the last bucket is open upwards. */
uint64_t hk_histogram_width_ns(uint32_t bucket);

/* Adds the 32 counts of one octave; an octave of HK_HISTOGRAM_OCTAVES or more is ignored. */
void hk_histogram_add_octave(struct hk_histogram *histogram, uint32_t octave,
			     const uint64_t counts[HK_HISTOGRAM_OCTAVE_BUCKETS]);

/* Duration in ns below or at which the share `quantile` (0..1) of all durations lies, of a
 * histogram given by its USED non-empty buckets, ascending, and their counts: the middle of the
 * bucket that holds the value of rank ceil(quantile * total). The error is at most 1/64, for any
 * distribution inside the bucket. Returns 0 if empty. Durations above 2^40 ns are not resolved:
 * clamp to the minimum and maximum kept beside the histogram. */
uint64_t hk_histogram_sparse_quantile(const uint32_t *bucket, const uint64_t *count, size_t used,
				      double quantile);

/* Walks the buckets in use: sets *bucket to the first non-empty one at or after its value, or
 * returns false. Start with 0, continue with *bucket + 1. */
bool hk_histogram_next(const struct hk_histogram *histogram, uint32_t *bucket);

#endif
