#include "chunk/codec/positions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Chains of one process: far more than a segment's threads have, few enough to keep. */
#define POSITIONS_MAX (1u << 20)

static uint64_t key_of(const struct hk_chunk_position *position)
{
	return (uint64_t)position->slot << 32 | position->stream;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = key_of(a), y = key_of(b);

	return (x > y) - (x < y);
}

int hk_positions_take(struct hk_positions *positions, const struct hk_chunk_position *fresh,
		      size_t count)
{
	size_t old_count = positions->count, i = 0, j = 0, n = 0;

	if (!count) {
		return 0;
	}
	if (count > POSITIONS_MAX - old_count) {
		return -EFBIG;
	}
	struct hk_chunk_position *sorted = malloc(count * sizeof(*sorted));
	struct hk_chunk_position *all = malloc((old_count + count) * sizeof(*all));
	if (!sorted || !all) {
		free(sorted);
		free(all);
		return -ENOMEM;
	}
	memcpy(sorted, fresh, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare);
	while (i < old_count || j < count) {
		int order = i == old_count ? 1
			    : j == count   ? -1
					   : compare(&positions->list[i], &sorted[j]);
		all[n++] = order < 0 ? positions->list[i] : sorted[j];
		i += order <= 0;
		j += order >= 0;
	}
	free(sorted);
	free(positions->list);
	positions->list = all;
	positions->count = n;
	return 0;
}

void hk_positions_fini(struct hk_positions *positions)
{
	free(positions->list);
	*positions = (struct hk_positions){0};
}
