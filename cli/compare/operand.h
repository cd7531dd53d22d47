/* operand.h: one side of a matched row: its figures and, if they are there, its elements: those of
 * a row, of shards put together, or the sample that a tool kept. One owner, no locking. */
#ifndef HK_CLI_COMPARE_OPERAND_H
#define HK_CLI_COMPARE_OPERAND_H

#include "cli/compare/shards.h"

struct hk_operand {
	struct hk_values *values;
	uint32_t index;
	struct hk_dump_row row;
	struct hk_tensor tensor; /* data NULL: statistics only */
	bool is_joined;
	struct hk_joined joined;
	uint64_t sample_count; /* the shape of a sample */
	void *sample;	       /* malloc'd, or NULL */
};

/* Takes row INDEX of VALUES, which are of SIDE, without its elements. Returns 0, or an error of
 * hk_shards_join; then, too, OPERAND may be finished. */
int hk_operand_init(struct hk_operand *operand, struct hk_shards *shards, enum hk_mapping_side side,
		    struct hk_values *values, uint32_t index);
void hk_operand_fini(struct hk_operand *operand);

/* Reads the elements of both sides. Where one has a sample only, the other gets the same elements.
 * Returns whether the tensors of both can be compared. */
bool hk_operands_read(struct hk_operand *a, struct hk_operand *b, bool transposed);

#endif
