#include "report/model/numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/hook.h"
#include "ring/sample.h"
#include "sketch/histogram.h"

/* min_ns of a cell of which no call has returned. */
#define MIN_UNSET UINT64_MAX

/* Returns the number of leading buckets that are in range and ascend. */
static size_t sound_buckets(const uint32_t *bucket, size_t used)
{
	size_t i = 0;

	while (i < used && bucket[i] < HK_HISTOGRAM_BUCKETS &&
	       (i == 0 || bucket[i] > bucket[i - 1])) {
		i++;
	}
	return i;
}

static uint64_t add_clamped(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Merges two ascending lists of buckets. */
static int buckets_merge(struct hk_report_buckets *into, const uint32_t *index,
			 const uint64_t *count, size_t used)
{
	struct hk_report_buckets merged = {0};
	size_t room = into->used + used;
	size_t a = 0, b = 0;

	if (used == 0) {
		return 0;
	}
	merged.index = malloc(room * sizeof(*merged.index));
	merged.count = malloc(room * sizeof(*merged.count));
	if (!merged.index || !merged.count) {
		free(merged.index);
		free(merged.count);
		return -ENOMEM;
	}
	while (a < into->used || b < used) {
		bool from_a = b == used || (a < into->used && into->index[a] <= index[b]);
		bool from_b = a == into->used || (b < used && index[b] <= into->index[a]);
		merged.index[merged.used] = from_a ? into->index[a] : index[b];
		merged.count[merged.used++] =
		    add_clamped(from_a ? into->count[a] : 0, from_b ? count[b] : 0);
		a += from_a;
		b += from_b;
	}
	free(into->index);
	free(into->count);
	*into = merged;
	return 0;
}

static void extremes_add(struct hk_report_numbers *numbers, uint64_t min_ns, uint64_t max_ns)
{
	if (!numbers->have_latency || min_ns < numbers->min_ns) {
		numbers->min_ns = min_ns;
	}
	if (!numbers->have_latency || max_ns > numbers->max_ns) {
		numbers->max_ns = max_ns;
	}
	numbers->have_latency = true;
}

/* Estimates the calls that were not timed from the sampled ones. */
struct scale {
	uint64_t others, samples;
};

static uint64_t scaled(const struct scale *scale, uint64_t value, uint64_t sample)
{
	unsigned __int128 more = (unsigned __int128)sample * scale->others / scale->samples;

	return more > UINT64_MAX - value ? UINT64_MAX : value + (uint64_t)more;
}

static bool measures_bytes(const Hk__Site *site)
{
	for (size_t i = 0; i < site->n_keys; i++) {
		if (site->keys[i] == HK_KEY_BYTES) {
			return true;
		}
	}
	return false;
}

void hk_report_numbers_add_values(struct hk_report_numbers *numbers,
				  const struct hk_columns_row *cell, const Hk__Site *site,
				  uint64_t counted)
{
	uint64_t timed = hk_sample_timed(counted, cell->sampled);
	bool instant = hk_meaning_is_instant(site->meaning);
	bool untimed = instant || site->level == HK_LEVEL_COUNT || site->level == HK_LEVEL_OFF;
	uint64_t total = cell->total_ns, self = cell->self_ns;
	uint64_t outermost = cell->outermost_ns, bytes = cell->bytes, inner = cell->inner_calls;

	numbers->timed = add_clamped(numbers->timed, timed);
	numbers->weight = add_clamped(numbers->weight, hk_sample_weighted(timed, cell->sampled));
	numbers->latency_ns =
	    add_clamped(numbers->latency_ns, hk_sample_weighted(cell->total_ns, cell->sampled_ns));
	if (cell->sampled > 0 && timed < cell->calls) {
		/* Only samples stand for the other calls: calls timed at a higher level, before it
		 * was lowered, do not. */
		struct scale scale = {cell->calls - timed, cell->sampled};
		total = scaled(&scale, total, cell->sampled_ns);
		self = scaled(&scale, self, cell->sampled_self_ns);
		outermost = scaled(&scale, outermost, cell->sampled_outermost_ns);
		bytes = scaled(&scale, bytes, cell->sampled_bytes);
		inner = timed ? scaled(&(struct scale){scale.others, timed}, inner, inner) : inner;
		numbers->estimated = true;
	} else if (site->level == HK_LEVEL_SAMPLE && timed > 0 && timed < cell->calls) {
		/* An older agent does not count samples apart: all timed calls are samples. */
		struct scale scale = {cell->calls - timed, timed};
		total = scaled(&scale, total, total);
		self = scaled(&scale, self, self);
		outermost = scaled(&scale, outermost, outermost);
		inner = scaled(&scale, inner, inner);
		numbers->estimated = true;
	}
	if (timed > 0) {
		extremes_add(numbers, cell->min_ns == MIN_UNSET ? 0 : cell->min_ns, cell->max_ns);
	}
	numbers->have_total |= !untimed || timed > 0 || cell->total_ns > 0;
	numbers->have_bytes |= !untimed || cell->bytes > 0 || !measures_bytes(site);
	numbers->calls = add_clamped(numbers->calls, cell->calls);
	numbers->errors = add_clamped(numbers->errors, cell->errors);
	numbers->total_ns = add_clamped(numbers->total_ns, total);
	numbers->self_ns = add_clamped(numbers->self_ns, self);
	numbers->outermost_ns = add_clamped(numbers->outermost_ns, outermost);
	numbers->inner_calls = add_clamped(numbers->inner_calls, inner);
	numbers->bytes = add_clamped(numbers->bytes, bytes);
	numbers->have_device |= cell->device_ns > 0 || hk_meaning_is_activity(site->meaning);
	numbers->device_ns = add_clamped(numbers->device_ns, cell->device_ns);
}

int hk_report_numbers_add_cell(struct hk_report_numbers *numbers, const struct hk_columns_row *cell,
			       const Hk__Site *site)
{
	size_t buckets = sound_buckets(cell->bucket, cell->buckets);
	uint64_t counted = 0;

	for (size_t i = 0; i < buckets; i++) {
		counted = add_clamped(counted, cell->count[i]);
	}
	int r = buckets_merge(&numbers->buckets, cell->bucket, cell->count, buckets);
	if (r == 0) {
		hk_report_numbers_add_values(numbers, cell, site, counted);
	}
	return r;
}

int hk_report_numbers_add_buckets(struct hk_report_numbers *numbers, const uint32_t *bucket,
				  const uint64_t *count, size_t used)
{
	return buckets_merge(&numbers->buckets, bucket, count, sound_buckets(bucket, used));
}

int hk_report_numbers_add(struct hk_report_numbers *numbers, const struct hk_report_numbers *from)
{
	int r = buckets_merge(&numbers->buckets, from->buckets.index, from->buckets.count,
			      from->buckets.used);
	if (r < 0) {
		return r;
	}
	if (from->have_latency) {
		extremes_add(numbers, from->min_ns, from->max_ns);
	}
	numbers->timed = add_clamped(numbers->timed, from->timed);
	numbers->weight = add_clamped(numbers->weight, from->weight);
	numbers->latency_ns = add_clamped(numbers->latency_ns, from->latency_ns);
	numbers->have_total |= from->have_total;
	numbers->have_bytes |= from->have_bytes;
	numbers->estimated |= from->estimated;
	numbers->calls = add_clamped(numbers->calls, from->calls);
	numbers->errors = add_clamped(numbers->errors, from->errors);
	numbers->total_ns = add_clamped(numbers->total_ns, from->total_ns);
	numbers->self_ns = add_clamped(numbers->self_ns, from->self_ns);
	numbers->outermost_ns = add_clamped(numbers->outermost_ns, from->outermost_ns);
	numbers->inner_calls = add_clamped(numbers->inner_calls, from->inner_calls);
	numbers->bytes = add_clamped(numbers->bytes, from->bytes);
	numbers->have_device |= from->have_device;
	numbers->device_ns = add_clamped(numbers->device_ns, from->device_ns);
	return 0;
}

static uint64_t quantile(const struct hk_report_numbers *numbers, double share)
{
	const struct hk_report_buckets *buckets = &numbers->buckets;
	uint64_t value =
	    hk_histogram_sparse_quantile(buckets->index, buckets->count, buckets->used, share);

	if (value < numbers->min_ns) {
		return numbers->min_ns;
	}
	return value > numbers->max_ns ? numbers->max_ns : value;
}

void hk_report_numbers_finish(struct hk_report_numbers *numbers)
{
	if (!numbers->have_latency || numbers->weight == 0) {
		return;
	}
	numbers->mean_ns = numbers->latency_ns / numbers->weight;
	numbers->p50_ns = quantile(numbers, 0.50);
	numbers->p90_ns = quantile(numbers, 0.90);
	numbers->p99_ns = quantile(numbers, 0.99);
}

void hk_report_numbers_fini(struct hk_report_numbers *numbers)
{
	free(numbers->buckets.index);
	free(numbers->buckets.count);
	numbers->buckets = (struct hk_report_buckets){0};
}
