/* blocks.h: the blocks of a file that may be damaged, torn, hostile or still being written. One
 * thread at a time. */
#ifndef HK_DUMP_BLOCKS_H
#define HK_DUMP_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dump/format.h"

struct hk_blocks {
	int fd;
	uint64_t size;		     /* of the file when it was opened */
	uint64_t next;		     /* where the next block is looked for */
	unsigned places;	     /* that are damaged */
	char damage[160];	     /* the first of them, or empty */
	void *stored, *raw, *planes; /* memory of the last body */
	size_t stored_room, raw_room, planes_room;
	struct ZSTD_DCtx_s *context;
};

/* Returns 0 or -errno. */
int hk_blocks_open(struct hk_blocks *blocks, const char *path);
void hk_blocks_close(struct hk_blocks *blocks);

/* The next block whose header is right, and where it is; what is damaged before it is noted. Its
 * body lies within the file. Returns false at the end. */
bool hk_blocks_next(struct hk_blocks *blocks, struct hk_dump_block *block, uint64_t *ret_at);

/* Reads the body of the BLOCK at AT into its raw_bytes TO. Returns 0, -EBADMSG if it is damaged,
 * -ENOTSUP if a newer version wrote it, -ENOMEM or another -errno. */
int hk_blocks_read(struct hk_blocks *blocks, const struct hk_dump_block *block, uint64_t at,
		   void *to);

/* The same into memory of BLOCKS, valid until the next call, of any block but a payload. */
int hk_blocks_body(struct hk_blocks *blocks, const struct hk_dump_block *block, uint64_t at,
		   const void **ret_body);

/* Notes that the file is damaged AT. */
__attribute__((format(printf, 2, 3))) void hk_blocks_note(struct hk_blocks *blocks,
							  const char *format, ...);

#endif
