/* definitions.h: the texts and stacks of a file, by number. One thread at a time. */
#ifndef HK_DUMP_DEFINITIONS_H
#define HK_DUMP_DEFINITIONS_H

#include <stddef.h>
#include <stdint.h>

#include "dump/format.h"

/* What one block defines: COUNT numbers from FIRST. */
struct hk_range {
	uint32_t first, count;
	void *body;
	const void **items; /* into the body; of stacks, behind the last the end too */
};

struct hk_ranges {
	struct hk_range *ranges; /* in rising order */
	size_t count;
};

/* Add a copy of the SIZE bytes of a body. Return 0, -EBADMSG or -ENOMEM. */
int hk_ranges_add_texts(struct hk_ranges *ranges, const struct hk_dump_block *block,
			const void *body, size_t size);
int hk_ranges_add_stacks(struct hk_ranges *ranges, const struct hk_dump_block *block,
			 const void *body, size_t size);
void hk_ranges_fini(struct hk_ranges *ranges);

/* The item, or NULL: no such number. Of a stack: u32 count, then the numbers of its texts. */
const void *hk_ranges_find(const struct hk_ranges *ranges, uint32_t number);

#endif
