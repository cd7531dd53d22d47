#include "chunk/merge/merge_tree.h"

#include <stdlib.h>

#define END_KEY INT64_MAX
#define PREFETCH_RECORDS 4

bool hk_merge_tree_init(struct hk_merge_tree *tree, size_t streams)
{
	/* At least four leaves: the root is then a match and needs no special case. */
	for (tree->bits = 2; 1u << tree->bits < streams; tree->bits += 2) {
	}
	tree->leaves = 1u << tree->bits;
	tree->latest = ((uint64_t)END_KEY >> tree->bits) - 1;
	tree->losers = calloc(tree->leaves, sizeof(*tree->losers));
	tree->next_keys = calloc(2 * (size_t)tree->leaves, sizeof(*tree->next_keys));
	return tree->losers && tree->next_keys;
}

void hk_merge_tree_fini(struct hk_merge_tree *tree)
{
	free(tree->losers);
	free(tree->next_keys);
}

/* Never negative: comparing signed numbers takes the processor one step less. */
static inline int64_t key_of(const struct hk_merge_tree *tree, size_t input, int64_t start_ns)
{
	uint64_t time = (uint64_t)start_ns - (uint64_t)tree->base_ns;

	/* Times before the base become 0, and times beyond the range the latest, instead of
	 * wrapping. */
	time = time < tree->latest ? time : tree->latest;
	time = start_ns < tree->base_ns ? 0 : time;
	return (int64_t)(time << tree->bits | input);
}

static inline void look_ahead(struct hk_merge_tree *tree, struct hk_merge_stream *stream,
			      size_t input)
{
	if (stream->at + 1 != stream->end) {
		__builtin_prefetch(stream->at + 1 + PREFETCH_RECORDS);
		stream->next_ns = hk_merge_stream_ns(stream, stream->at + 1);
		tree->next_keys[input] = key_of(tree, input, stream->next_ns);
	}
}

/* Key of a stream that the tree has not seen yet. */
static int64_t head_key(struct hk_merge_tree *tree, struct hk_merge_stream *stream, size_t input)
{
	if (stream->at == stream->end) {
		return END_KEY;
	}
	look_ahead(tree, stream, input);
	return key_of(tree, input, stream->start_ns);
}

/* Plays the matches from a leaf up: the loser stays, the winner moves up. The losers of two levels
 * are compared with each other before the winner is known, so that two levels take one
 * comparison. */
static inline int64_t replay(int64_t *losers, size_t leaf_node, int64_t key)
{
	for (size_t node = leaf_node >> 1; node; node >>= 2) {
		int64_t a = losers[node], b = losers[node >> 1];
		int64_t least = a > b ? b : a, between = a > key ? key : a;
		losers[node] = a > key ? a : key;
		losers[node >> 1] = b > between ? b : between;
		key = least > key ? key : least;
	}
	return key;
}

void hk_merge_tree_plant(struct hk_merge_tree *tree, struct hk_merge_streams *streams)
{
	int64_t *winners = tree->next_keys + tree->leaves;

	for (uint32_t i = 0; i < tree->leaves; i++) {
		winners[i] = i < streams->count ? head_key(tree, &streams->all[i], i) : END_KEY;
	}
	for (uint32_t matches = tree->leaves / 2; matches; matches /= 2) {
		for (uint32_t i = 0; i < matches; i++) {
			int64_t a = winners[2 * i], b = winners[2 * i + 1];
			tree->losers[matches + i] = a > b ? a : b;
			winners[i] = a > b ? b : a;
		}
	}
	tree->best = winners[0];
}

void hk_merge_tree_refilled(struct hk_merge_tree *tree, struct hk_merge_streams *streams,
			    uint32_t input)
{
	tree->best = replay(tree->losers, (size_t)tree->leaves + input,
			    head_key(tree, &streams->all[input], input));
}

void hk_merge_tree_find(struct hk_merge_tree *tree, struct hk_merge_streams *streams)
{
	const int64_t *next_keys = tree->next_keys;
	int64_t *losers = tree->losers, best = tree->best;
	const size_t leaves = tree->leaves;
	uint32_t held = 0;

	while (held < HK_MERGE_TREE_FOUND_MAX && best != END_KEY) {
		size_t input = (size_t)best & (leaves - 1);
		struct hk_merge_stream *stream = &streams->all[input];
		tree->found[held++] = (struct hk_merged){
		    .start_ns = stream->start_ns, .input = (uint32_t)input, .record = stream->at};
		if (++stream->at == stream->end) {
			streams->drained = (uint32_t)input;
			break;
		}
		stream->start_ns = stream->next_ns;
		best = replay(losers, leaves + input, next_keys[input]);
		look_ahead(tree, stream, input);
	}
	tree->best = best;
	tree->held = held;
	tree->shown = 0;
}
