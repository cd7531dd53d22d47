/* mapping.h: the user's file that says what belongs together on both sides. One statement a line:
 *
 *     # comment
 *     torch.nn.functional.* = mindspore.ops.*       names of A = names of B; a * on the right is
 *                                                   what the * in its place on the left covers
 *     rank 1 = rank 4                               rank of A = rank of B
 *     layers.*.weight = shard(0) over ranks 0-3     rows put together along dimension 0
 *     a: layers.*.weight = shard(0) over ranks 0-3  of side A; without a letter: of the side with
 *                                                   more ranks
 *     layers.*.bias = replicated                    any rank of the other side may have the row
 *
 * Read-only once parsed. Main thread only.
 */
#ifndef HK_CLI_COMPARE_MAPPING_H
#define HK_CLI_COMPARE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/span.h"

#define HK_MAPPING_REASON_BYTES 256

enum hk_mapping_side { HK_SIDE_A, HK_SIDE_B, HK_SIDE_LARGER };

struct hk_mapping_names {
	char *a, *b;
};

struct hk_mapping_rank {
	uint32_t a, b;
};

struct hk_mapping_layout {
	enum hk_mapping_side side;
	char *pattern;
	bool replicated;			       /* else sharded */
	uint32_t dimension;			       /* of shards */
	struct hk_span_ranks spans[HK_SPAN_RANKS_MAX]; /* of shards, in the order of the shards */
	size_t span_count;
};

struct hk_mapping {
	struct hk_mapping_names *names;
	size_t name_count;
	struct hk_mapping_rank *ranks;
	size_t rank_count;
	struct hk_mapping_layout *layouts;
	size_t layout_count;
};

/* Reads the file PATH into MAPPING. Returns 0, or -errno with REASON; then MAPPING is empty. */
int hk_mapping_read(struct hk_mapping *mapping, const char *path,
		    char reason[HK_MAPPING_REASON_BYTES]);
void hk_mapping_fini(struct hk_mapping *mapping);

/* Writes the name that B has for NAME of A to TEXT of SIZE, cut if need be. Returns whether a
 * statement covers NAME. */
bool hk_mapping_name(const struct hk_mapping *mapping, const char *name, char *text, size_t size);

/* The layout of a row called NAME of SIDE (A or B) as RANK of that side has it, or NULL. LARGER:
 * the side with more ranks. */
const struct hk_mapping_layout *hk_mapping_layout(const struct hk_mapping *mapping,
						  enum hk_mapping_side side,
						  enum hk_mapping_side larger, uint32_t rank,
						  const char *name);

#endif
