/* shards.h: tensors of which each rank has a part, put together as the mapping says. One owner, no
 * locking. */
#ifndef HK_CLI_COMPARE_SHARDS_H
#define HK_CLI_COMPARE_SHARDS_H

#include "cli/compare/comparison.h"
#include "cli/compare/mapping.h"

struct hk_shards;

/* Returns NULL without memory. Both arguments outlive the shards. */
struct hk_shards *hk_shards_new(struct hk_comparison *comparison, const struct hk_mapping *mapping);
struct hk_shards *hk_shards_free(struct hk_shards *shards);

/* A tensor made of the shards of all ranks. */
struct hk_joined {
	struct hk_dump_row row; /* shape and statistics are of the whole */
	uint64_t shape[HK_TENSOR_DIMENSIONS];
	void *elements; /* malloc'd, contiguous; NULL: statistics only */
};

/* Joins row INDEX of VALUES, which are of SIDE (A or B), with those of the other ranks. Returns 1,
 * 0 if the mapping says nothing of it, -ENOENT if a rank lacks its shard, -EINVAL if the shapes do
 * not fit together, or -ENOMEM. The caller frees the elements. */
int hk_shards_join(struct hk_shards *shards, enum hk_mapping_side side, struct hk_values *values,
		   uint32_t index, struct hk_joined *joined);

/* The side with more ranks; A if both have as many. */
enum hk_mapping_side hk_shards_larger(const struct hk_comparison *comparison);

/* Marks rows that one pair of ranks does not match and another pair does, if the mapping calls them
 * replicated. Returns 0 or -ENOMEM. */
int hk_shards_mark_replicated(struct hk_comparison *comparison, const struct hk_mapping *mapping);

#endif
