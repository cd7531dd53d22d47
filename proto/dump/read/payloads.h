/* payloads.h: which elements a file has, and where. One thread at a time. */
#ifndef HK_DUMP_PAYLOADS_H
#define HK_DUMP_PAYLOADS_H

#include "dump/read/blocks.h"

struct hk_payloads {
	struct hk_part *parts;	 /* sorted */
	struct hk_whole *wholes; /* sorted */
	size_t part_count, part_room, whole_count;
	void *elements; /* of the last read */
	size_t room;
};

void hk_payloads_fini(struct hk_payloads *payloads);

/* Adds a PAYLOAD block. Returns 0, -EBADMSG or -ENOMEM. */
int hk_payloads_add(struct hk_payloads *payloads, const struct hk_dump_block *block, uint64_t at);

/* After the last add. Returns 0 or -ENOMEM. */
int hk_payloads_sort(struct hk_payloads *payloads);

bool hk_payloads_has(const struct hk_payloads *payloads, const struct hk_dump_cells *cells);

/* The elements of a row, until the next call. NULL: *REASON. */
const void *hk_payloads_read(struct hk_payloads *payloads, struct hk_blocks *blocks,
			     const struct hk_dump_cells *cells, const char **reason);

#endif
