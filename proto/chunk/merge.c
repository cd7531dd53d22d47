#include "chunk/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "chunk/cursor.h"

#define END_KEY UINT64_MAX
#define NO_INPUT UINT32_MAX
#define PREFETCH_RECORDS 4

struct stream {
	const struct hk_record *at, *end; /* rest of the batch; at == end: closed */
	int64_t start_ns;		  /* of *at */
	struct hk_merge_input input;
};

struct hk_merge {
	struct stream *streams;
	uint64_t *tree;	  /* [1..leaves-1]: the loser of each match; a leaf's parent is (leaves +
			     leaf) / 2 */
	uint64_t best;	  /* key of the winner */
	int64_t base_ns;  /* keys count from here */
	uint32_t leaves;  /* a power of two */
	uint32_t bits;	  /* of a key that hold the input */
	uint32_t advance; /* input whose record was handed out last */
};

int hk_merge_cursor_batch(void *cursor, const struct hk_record **ret_records, size_t *ret_count)
{
	return hk_cursor_batch(cursor, ret_records, ret_count);
}

int64_t hk_merge_clock_ns(const struct hk_merge_clock *clock, uint64_t ticks)
{
	if (clock->convert) {
		return clock->convert(clock->context, ticks);
	}
	/* Ticks before the base are negative; hostile ones only have to stay defined. */
	__int128 delta = (int64_t)(ticks - clock->base_ticks);
	__int128 ns = delta * (__int128)clock->ns_per_tick_q32 >> 32;
	return (int64_t)((uint64_t)clock->base_ns + (uint64_t)ns);
}

static inline uint64_t key_of(const struct hk_merge *merge, const struct stream *stream)
{
	uint64_t highest = (END_KEY >> merge->bits) - 1;
	uint64_t time = (uint64_t)stream->start_ns - (uint64_t)merge->base_ns;

	if (stream->at == stream->end) {
		return END_KEY;
	}
	/* Records that come late, and times beyond the range, keep their place instead of wrapping
	 * round. */
	if (stream->start_ns < merge->base_ns) {
		time = 0;
	} else if (time > highest) {
		time = highest;
	}
	return time << merge->bits | (uint64_t)(stream - merge->streams);
}

/* Takes the next batch if the last one is used up, and finds the time of the next record. */
static inline int refresh(struct stream *stream)
{
	if (stream->at == stream->end) {
		size_t count = 0;
		int rc = stream->input.batch(stream->input.context, &stream->at, &count);
		if (rc <= 0) {
			stream->at = stream->end = NULL;
			return rc;
		}
		stream->end = stream->at + count;
	}
	__builtin_prefetch(stream->at + PREFETCH_RECORDS);
	stream->start_ns = hk_merge_clock_ns(&stream->input.clock, stream->at->start_ticks);
	return 0;
}

/* Plays the matches from a leaf up; the loser stays, the winner goes on. */
static inline void replay(struct hk_merge *merge, uint32_t leaf, uint64_t key)
{
	for (uint32_t node = (merge->leaves + leaf) >> 1; node; node >>= 1) {
		uint64_t other = merge->tree[node];
		merge->tree[node] = other > key ? other : key;
		key = other > key ? key : other;
	}
	merge->best = key;
}

/* First round, from the leaves' level up; `keys` has two entries per leaf. */
static void play_all(struct hk_merge *merge, uint64_t *keys)
{
	for (uint32_t node = merge->leaves - 1; node; node--) {
		uint64_t a = keys[2 * node], b = keys[2 * node + 1];
		merge->tree[node] = a > b ? a : b;
		keys[node] = a > b ? b : a;
	}
	merge->best = keys[1];
}

static int start(struct hk_merge *merge, size_t count)
{
	uint64_t *keys = malloc(2 * (size_t)merge->leaves * sizeof(*keys));

	if (!keys) {
		return -ENOMEM;
	}
	merge->base_ns = INT64_MAX;
	for (size_t i = 0; i < count; i++) {
		struct stream *stream = &merge->streams[i];
		int rc = refresh(stream);
		if (rc < 0) {
			free(keys);
			return rc;
		}
		if (stream->at != stream->end && stream->start_ns < merge->base_ns) {
			merge->base_ns = stream->start_ns;
		}
	}
	for (uint32_t i = 0; i < merge->leaves; i++) {
		keys[merge->leaves + i] = i < count ? key_of(merge, &merge->streams[i]) : END_KEY;
	}
	play_all(merge, keys);
	free(keys);
	return 0;
}

int hk_merge_new(const struct hk_merge_input *inputs, size_t count, struct hk_merge **ret_merge)
{
	struct hk_merge *merge;
	int rc = -ENOMEM;

	if (count > HK_MERGE_INPUTS_MAX) {
		return -EINVAL;
	}
	merge = calloc(1, sizeof(*merge));
	if (!merge) {
		return -ENOMEM;
	}
	merge->advance = NO_INPUT;
	/* At least two leaves: then the root is a match and needs no case of its own. */
	for (merge->bits = 1; 1u << merge->bits < count; merge->bits++) {
	}
	merge->leaves = 1u << merge->bits;
	merge->streams = calloc(count + 1, sizeof(*merge->streams));
	merge->tree = calloc(merge->leaves, sizeof(*merge->tree));
	if (merge->streams && merge->tree) {
		for (size_t i = 0; i < count; i++) {
			merge->streams[i].input = inputs[i];
		}
		rc = start(merge, count);
	}
	if (rc < 0) {
		hk_merge_free(merge);
		return rc;
	}
	*ret_merge = merge;
	return 0;
}

struct hk_merge *hk_merge_free(struct hk_merge *merge)
{
	if (merge) {
		free(merge->streams);
		free(merge->tree);
		free(merge);
	}
	return NULL;
}

int hk_merge_next(struct hk_merge *merge, struct hk_merged *ret_merged)
{
	if (merge->advance != NO_INPUT) {
		uint32_t input = merge->advance;
		struct stream *stream = &merge->streams[input];
		stream->at++;
		merge->advance = NO_INPUT;
		int rc = refresh(stream);
		replay(merge, input, key_of(merge, stream));
		if (rc < 0) {
			return rc;
		}
	}
	if (merge->best == END_KEY) {
		return 0;
	}
	uint32_t input = (uint32_t)merge->best & (merge->leaves - 1);
	const struct stream *stream = &merge->streams[input];
	ret_merged->start_ns = stream->start_ns;
	ret_merged->input = input;
	ret_merged->record = stream->at;
	merge->advance = input;
	return 1;
}
