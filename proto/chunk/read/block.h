/* block.h: the records of one lane section, loaded from a file and sorted by start. A loader holds
 * what loading needs, for any number of files: file buffer, decoder, sort space. A block owns all
 * that its records point to. Used by cursor.c. Threading: one thread per loader; blocks are
 * independent of it once loaded. */
#ifndef HK_CHUNK_READ_BLOCK_H
#define HK_CHUNK_READ_BLOCK_H

#include <stddef.h>

#include "chunk/read/file.h"
#include "chunk/read/order.h"
#include "chunk/read/reader.h"

struct hk_loader {
	struct hk_chunk_reader *reader;
	struct hk_chunk_buffer buffer;
	struct hk_order order;
};

struct hk_chunk_block {
	struct hk_record *records; /* sorted; words and threads lie in the same allocation */
	size_t count;
	size_t next;	 /* first record not yet handed out */
	size_t bytes;	 /* bytes of memory */
	uint64_t number; /* number of its chunk */
};

/* Location of a block. */
struct hk_chunk_block_location {
	uint64_t min_start_ticks;
	uint64_t offset; /* offset of its chunk in the file */
	uint64_t number;
	uint32_t chunk_bytes;
	uint32_t type; /* HK_SECTION_LANES or HK_SECTION_LONG_LANES */
};

/* Makes a loader; NULL if out of memory. */
struct hk_loader *hk_loader_new(void);

/* Frees a loader and returns NULL; accepts NULL. */
struct hk_loader *hk_loader_free(struct hk_loader *loader);

/* Reads the block at a place; the loader's reader then has its chunk open, until the next load. The
 * caller frees the result with hk_chunk_block_free. Returns 0, -EBADMSG if it is damaged, -ENOMEM,
 * or -errno of reading. */
int hk_chunk_block_load(struct hk_loader *loader, int fd,
			const struct hk_chunk_block_location *place,
			struct hk_chunk_block **ret_block);

/* Frees a block and returns NULL; accepts NULL. */
struct hk_chunk_block *hk_chunk_block_free(struct hk_chunk_block *block);

#endif
