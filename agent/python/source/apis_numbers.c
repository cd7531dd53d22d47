#include "apis_numbers.h"

#include <stdlib.h>

/* Buckets: v = ns|32, s = msb(v)-5, index = (s<<5) + (ns>>s): 32 to the octave, as in the segment.
 */
static uint32_t bucket_of(uint64_t ns)
{
	uint32_t shift = 63u - (uint32_t)__builtin_clzll(ns | 32u) - 5u;
	uint64_t index = ((uint64_t)shift << 5) + (ns >> shift);

	return index < HK_API_BUCKETS ? (uint32_t)index : HK_API_BUCKETS - 1;
}

/* the middle of a bucket, in ns */
static uint64_t middle_of(uint32_t bucket)
{
	uint32_t shift = bucket < 64u ? 0 : (bucket >> 5) - 1;
	uint64_t lower = (uint64_t)(bucket - (shift << 5)) << shift;

	return lower + ((1ull << shift) >> 1);
}

void hk_api_numbers_add(struct hk_api_numbers **place, uint64_t ns, bool failed)
{
	struct hk_api_numbers *numbers = *place;

	if (!numbers) {
		numbers = *place = calloc(1, sizeof(*numbers));
		if (!numbers) {
			return;
		}
		numbers->min_ns = UINT64_MAX;
	}
	numbers->calls++;
	numbers->errors += failed;
	numbers->total_ns += ns;
	numbers->min_ns = ns < numbers->min_ns ? ns : numbers->min_ns;
	numbers->max_ns = ns > numbers->max_ns ? ns : numbers->max_ns;
	numbers->bucket[bucket_of(ns)]++;
}

/* The duration at or below which the share PERCENT of all calls is, within 1/64. */
static uint64_t quantile(const struct hk_api_numbers *numbers, uint32_t percent)
{
	uint64_t rank = (numbers->calls * percent + 99u) / 100u, seen = 0, ns = 0;

	for (uint32_t i = 0; i < HK_API_BUCKETS && seen < rank; i++) {
		seen += numbers->bucket[i];
		ns = middle_of(i);
	}
	ns = ns < numbers->min_ns ? numbers->min_ns : ns;
	return ns > numbers->max_ns ? numbers->max_ns : ns;
}

PyObject *hk_api_numbers_tuple(const struct hk_api_numbers *numbers)
{
	return Py_BuildValue(
	    "(KKKKKKK)", (unsigned long long)numbers->calls, (unsigned long long)numbers->errors,
	    (unsigned long long)numbers->total_ns, (unsigned long long)numbers->min_ns,
	    (unsigned long long)quantile(numbers, 50), (unsigned long long)quantile(numbers, 99),
	    (unsigned long long)numbers->max_ns);
}
