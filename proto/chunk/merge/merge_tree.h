/* merge_tree.h: the next records of a merge, one by one. A loser tree over 64-bit keys that hold
 * both the time and the number of the stream: three steps without a branch for 64 streams, each of
 * two levels. Each stream's next key is computed ahead, and records are found in batches, so that
 * their state stays in registers. */
#ifndef HK_CHUNK_MERGE_MERGE_TREE_H
#define HK_CHUNK_MERGE_MERGE_TREE_H

#include <stdbool.h>

#include "chunk/merge/merge_stream.h"

#define HK_MERGE_TREE_FOUND_MAX 64u

struct hk_merge_tree {
	int64_t *
	    losers; /* [1..leaves-1]: loser of each match; a leaf's parent is (leaves + leaf) / 2 */
	/* Per stream, the key of its next_ns: one load after the winner is known gives its
	 * replacement. The second half serves the first round. */
	int64_t *next_keys;
	int64_t best;	 /* key of the winner */
	int64_t base_ns; /* time of key 0 */
	uint64_t latest; /* highest time of a key: later times are not distinguished */
	uint32_t leaves; /* a power of four: matches are played two levels at a time */
	uint32_t bits;	 /* bits of a key that hold the stream */
	uint32_t shown, held;
	struct hk_merged
	    found[HK_MERGE_TREE_FOUND_MAX]; /* records in order; `shown` were handed out */
};

/* Allocates for this many streams; false if out of memory. Call hk_merge_tree_fini in both
 * cases. */
bool hk_merge_tree_init(struct hk_merge_tree *tree, size_t streams);
void hk_merge_tree_fini(struct hk_merge_tree *tree);

/* Builds the tree from the streams as they are. */
void hk_merge_tree_plant(struct hk_merge_tree *tree, struct hk_merge_streams *streams);

/* Updates a stream that has a new batch, or is closed. */
void hk_merge_tree_refilled(struct hk_merge_tree *tree, struct hk_merge_streams *streams,
			    uint32_t input);

/* Finds the next records, until one was the last of a batch, since they point into it. Finds no
 * record if all streams are closed. */
void hk_merge_tree_find(struct hk_merge_tree *tree, struct hk_merge_streams *streams);

#endif
