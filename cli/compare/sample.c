#include "cli/compare/sample.h"

#include <string.h>

static bool is_whole(const struct hk_sampling *sampling, uint64_t count)
{
	return sampling->step <= 1 || count / 2 < sampling->edge || count <= 2 * sampling->edge;
}

/* Elements of the middle part. */
static uint64_t middle(const struct hk_sampling *sampling, uint64_t count)
{
	return (count - 2 * sampling->edge + sampling->step - 1) / sampling->step;
}

uint64_t hk_sample_count(const struct hk_sampling *sampling, uint64_t count)
{
	return is_whole(sampling, count) ? count : 2 * sampling->edge + middle(sampling, count);
}

void hk_sample_take(const struct hk_sampling *sampling, const void *elements, uint64_t count,
		    size_t size, void *sample)
{
	const uint8_t *from = elements;
	uint8_t *to = sample;

	if (is_whole(sampling, count)) {
		memcpy(to, from, (size_t)count * size);
		return;
	}
	size_t edge = (size_t)sampling->edge * size;
	uint64_t many = middle(sampling, count);
	memcpy(to, from, edge);
	to += edge;
	for (uint64_t i = 0; i < many; i++, to += size) {
		memcpy(to, from + edge + i * sampling->step * size, size);
	}
	memcpy(to, from + (size_t)count * size - edge, edge);
}
