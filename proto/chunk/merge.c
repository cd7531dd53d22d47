#include "chunk/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "chunk/cursor.h"

#define END_KEY INT64_MAX
#define NO_INPUT UINT32_MAX
#define PREFETCH_RECORDS 4
#define FOUND_MAX 64u

struct stream {
	const struct hk_record *at, *end; /* rest of the batch; at == end: closed */
	int64_t start_ns;		  /* of *at */
	int64_t next_ns; /* of the one behind, if the batch has one: found before it is wanted */
	struct hk_merge_input input;
};

struct hk_merge {
	struct stream *streams;
	/* Per stream, of next_ns: apart, so that whoever knows the winner is one load away from
	 * what takes its place. */
	int64_t *next_keys;
	int64_t *tree;	  /* [1..leaves-1]: the loser of each match; a leaf's parent is (leaves +
			     leaf) / 2 */
	int64_t best;	  /* key of the winner */
	int64_t base_ns;  /* keys count from here */
	uint64_t latest;  /* highest time of a key */
	uint32_t leaves;  /* a power of four: matches are played two levels at a time */
	uint32_t bits;	  /* of a key that hold the input */
	uint32_t drained; /* input whose batch is used up */
	uint32_t shown, held;
	struct hk_merged found[FOUND_MAX]; /* in order; `shown` of them have been handed out */
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

/* Never negative: comparing signed numbers takes the processor one step less. */
static inline int64_t key_of(const struct hk_merge *merge, size_t input, int64_t start_ns)
{
	uint64_t time = (uint64_t)start_ns - (uint64_t)merge->base_ns;

	/* Records that come late, and times beyond the range, keep their place instead of wrapping
	 * round. */
	time = time < merge->latest ? time : merge->latest;
	time = start_ns < merge->base_ns ? 0 : time;
	return (int64_t)(time << merge->bits | input);
}

static inline void look_ahead(const struct hk_merge *merge, size_t input)
{
	struct stream *stream = &merge->streams[input];

	if (stream->at + 1 != stream->end) {
		__builtin_prefetch(stream->at + 1 + PREFETCH_RECORDS);
		stream->next_ns =
		    hk_merge_clock_ns(&stream->input.clock, stream->at[1].start_ticks);
		merge->next_keys[input] = key_of(merge, input, stream->next_ns);
	}
}

/* Takes a stream's next batch; 0 too if there is none, and the stream is closed then. */
static int refill(struct stream *stream)
{
	size_t count = 0;
	int rc = stream->input.batch(stream->input.context, &stream->at, &count);

	if (rc <= 0) {
		stream->at = stream->end = NULL;
		return rc;
	}
	stream->end = stream->at + count;
	stream->start_ns = hk_merge_clock_ns(&stream->input.clock, stream->at->start_ticks);
	return 0;
}

/* Key of a stream that has a new batch, or none. */
static int64_t head_key(const struct hk_merge *merge, size_t input)
{
	const struct stream *stream = &merge->streams[input];

	if (stream->at == stream->end) {
		return END_KEY;
	}
	look_ahead(merge, input);
	return key_of(merge, input, stream->start_ns);
}

/* Plays the matches from a leaf up; the loser stays, the winner goes on. The two that wait on two
 * levels are compared with each other before it is known who comes, so that a step up waits for one
 * comparison and not for two. */
static inline int64_t replay(int64_t *tree, size_t leaf_node, int64_t key)
{
	for (size_t node = leaf_node >> 1; node; node >>= 2) {
		int64_t a = tree[node], b = tree[node >> 1];
		int64_t least = a > b ? b : a, between = a > key ? key : a;
		tree[node] = a > key ? a : key;
		tree[node >> 1] = b > between ? b : between;
		key = least > key ? key : least;
	}
	return key;
}

/* First round, from the leaves' level up; `keys` has two entries per leaf. */
static void play_all(struct hk_merge *merge, int64_t *keys)
{
	for (uint32_t node = merge->leaves - 1; node; node--) {
		int64_t a = keys[2 * node], b = keys[2 * node + 1];
		merge->tree[node] = a > b ? a : b;
		keys[node] = a > b ? b : a;
	}
	merge->best = keys[1];
}

static int start(struct hk_merge *merge, size_t count)
{
	int64_t *keys = malloc(2 * (size_t)merge->leaves * sizeof(*keys));

	if (!keys) {
		return -ENOMEM;
	}
	merge->base_ns = INT64_MAX;
	for (size_t i = 0; i < count; i++) {
		struct stream *stream = &merge->streams[i];
		int rc = refill(stream);
		if (rc < 0) {
			free(keys);
			return rc;
		}
		if (stream->at != stream->end && stream->start_ns < merge->base_ns) {
			merge->base_ns = stream->start_ns;
		}
	}
	for (uint32_t i = 0; i < merge->leaves; i++) {
		keys[merge->leaves + i] = i < count ? head_key(merge, i) : END_KEY;
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
	merge->drained = NO_INPUT;
	/* At least four leaves: then the root is a match and needs no case of its own. */
	for (merge->bits = 2; 1u << merge->bits < count; merge->bits += 2) {
	}
	merge->leaves = 1u << merge->bits;
	merge->latest = ((uint64_t)END_KEY >> merge->bits) - 1;
	merge->streams = calloc(count + 1, sizeof(*merge->streams));
	merge->next_keys = calloc(count + 1, sizeof(*merge->next_keys));
	merge->tree = calloc(merge->leaves, sizeof(*merge->tree));
	if (merge->streams && merge->next_keys && merge->tree) {
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
		free(merge->next_keys);
		free(merge->tree);
		free(merge);
	}
	return NULL;
}

/* Replaces the batch that is used up; an error closes its input. */
static int refill_drained(struct hk_merge *merge)
{
	uint32_t input = merge->drained;
	int rc = refill(&merge->streams[input]);

	merge->drained = NO_INPUT;
	merge->best = replay(merge->tree, (size_t)merge->leaves + input, head_key(merge, input));
	return rc;
}

/* Finds the next records, until one was the last of a batch: those found point into it. */
static void find(struct hk_merge *merge)
{
	const int64_t *next_keys = merge->next_keys;
	int64_t *tree = merge->tree, best = merge->best;
	const size_t leaves = merge->leaves;
	uint32_t held = 0;

	while (held < FOUND_MAX && best != END_KEY) {
		size_t input = (size_t)best & (leaves - 1);
		struct stream *stream = &merge->streams[input];
		merge->found[held++] = (struct hk_merged){
		    .start_ns = stream->start_ns, .input = (uint32_t)input, .record = stream->at};
		if (++stream->at == stream->end) {
			merge->drained = (uint32_t)input;
			break;
		}
		stream->start_ns = stream->next_ns;
		best = replay(tree, leaves + input, next_keys[input]);
		look_ahead(merge, input);
	}
	merge->best = best;
	merge->held = held;
	merge->shown = 0;
}

/* Apart, so that what most calls do needs no registers of its own. */
static __attribute__((noinline)) int find_more(struct hk_merge *merge)
{
	int rc = merge->drained != NO_INPUT ? refill_drained(merge) : 0;

	find(merge);
	return rc;
}

int hk_merge_next(struct hk_merge *merge, struct hk_merged *ret_merged)
{
	if (merge->shown == merge->held) {
		int rc = find_more(merge);
		if (rc < 0 || !merge->held) {
			return rc;
		}
	}
	*ret_merged = merge->found[merge->shown++];
	return 1;
}
