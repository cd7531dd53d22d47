/* merge_tree.h: the next records of a merge, one by one.
 *
 * A loser tree over 64-bit keys that hold both the time and the number of the stream: three steps
 * without a branch for 64 streams, each of two levels. Each stream's next key is made before it is
 * wanted, and records are found in stretches, so that what a stretch needs stays in registers. */
#ifndef HK_CHUNK_MERGE_MERGE_TREE_H
#define HK_CHUNK_MERGE_MERGE_TREE_H

#include <stdbool.h>

#include "chunk/merge/merge_stream.h"

#define HK_MERGE_TREE_FOUND_MAX 64u

struct hk_merge_tree {
	int64_t *losers; /* [1..leaves-1]: of each match; a leaf's parent is (leaves + leaf) / 2 */
	/* Per stream, of its next_ns: apart, so that whoever knows the winner
	 * is one load away from what takes its place. As many again for the first round. */
	int64_t *next_keys;
	int64_t best;	 /* key of the winner */
	int64_t base_ns; /* keys count from here */
	uint64_t latest; /* highest time of a key: later ones are not told apart */
	uint32_t leaves; /* a power of four: matches are played two levels at a time */
	uint32_t bits;	 /* of a key that hold the stream */
	uint32_t shown, held;
	struct hk_merged found[HK_MERGE_TREE_FOUND_MAX]; /* in order; `shown` were handed out */
};

/* Makes room for so many streams; false: out of memory. hk_merge_tree_fini either way. */
bool hk_merge_tree_init(struct hk_merge_tree *tree, size_t streams);
void hk_merge_tree_fini(struct hk_merge_tree *tree);

/* Begins with the streams as they are. */
void hk_merge_tree_plant(struct hk_merge_tree *tree, struct hk_merge_streams *streams);

/* Takes in that a stream has a new batch, or is closed. */
void hk_merge_tree_refilled(struct hk_merge_tree *tree, struct hk_merge_streams *streams,
			    uint32_t input);

/* Finds the next records, until one was the last of a batch: those found point into it. None: all
 * streams are closed. */
void hk_merge_tree_find(struct hk_merge_tree *tree, struct hk_merge_streams *streams);

#endif
