/* sample.h: what a call that was timed at level sample stands for.
 *
 * One call in HK_SAMPLE_WEIGHT is timed, on average. A cell's histogram counts it as that many
 * calls, so that quantiles are those of all calls whatever the level was when. Pure functions.
 */
#ifndef HK_RING_SAMPLE_H
#define HK_RING_SAMPLE_H

#include <stdint.h>

#define HK_SAMPLE_WEIGHT 64u

/* SUM over all timed calls of a cell (ns or bytes), with each sample counted HK_SAMPLE_WEIGHT
 * times. SAMPLED is the samples' part of SUM. The result never falls while a process runs, unlike
 * the exact estimate by the number of calls. It stops at UINT64_MAX. */
static inline uint64_t hk_sample_weighted(uint64_t sum, uint64_t sampled)
{
	uint64_t more;

	return __builtin_mul_overflow(sampled, HK_SAMPLE_WEIGHT - 1, &more) ||
		       __builtin_add_overflow(sum, more, &sum)
		   ? UINT64_MAX
		   : sum;
}

/* Calls that were timed, of COUNTED calls in the histogram of a cell with SAMPLED samples. At least
 * SAMPLED: a histogram for which there was no room lacks some. */
static inline uint64_t hk_sample_timed(uint64_t counted, uint64_t sampled)
{
	uint64_t weighted = hk_sample_weighted(sampled, sampled);

	return counted > weighted ? counted - (weighted - sampled) : sampled;
}

#endif
