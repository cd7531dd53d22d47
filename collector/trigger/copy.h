/* copy.h: the chunks of one process in the directory of a trigger. What is left out of the middle
 * or the front stands there as a tombstone, so that readers neither take it for damage nor match
 * calls across it. Plain values; one thread.
 */
#ifndef HK_COLLECTOR_TRIGGER_COPY_H
#define HK_COLLECTOR_TRIGGER_COPY_H

#include <stdint.h>

#include "chunk/codec/header.h"

/* Zeroed, with a uid: nothing there yet. */
struct hk_copy {
	uint8_t uid[16];
	uint64_t end_bytes;		/* of the file */
	uint64_t records, bytes;	/* of the chunks in it */
	uint64_t refused;		/* records that its tombstones stand for */
	uint64_t last_number;		/* in it; 0: none */
	uint64_t lost_records;		/* of its last header */
	struct hk_chunk_header skipped; /* since the last one in it; number 0: none */
};

/* Finds in directory DIRFD what an earlier collector copied, and cuts off a torn end. */
void hk_copy_take_up(struct hk_copy *copy, int dirfd);

/* Leaves the chunk of HEADER out. REFUSED: records in it that were to be kept. */
void hk_copy_skip(struct hk_copy *copy, const struct hk_chunk_header *header, uint64_t refused);

/* Appends the chunk BYTES of HEADER. Returns 0 or -errno: it is not there. */
int hk_copy_add(struct hk_copy *copy, int dirfd, const struct hk_chunk_header *header,
		const uint8_t *bytes);

/* Appends the tombstone of refused records behind the last chunk. Without room it is left out. */
void hk_copy_end(struct hk_copy *copy, int dirfd);

#endif
