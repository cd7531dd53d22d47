#include "dump/write/shrink.h"

#include <stdlib.h>

#include <zstd.h>

#include "dump/planes.h"

#define ROWS_LEVEL 1
#define TRIAL_BYTES 16384u /* of a payload, compressed to see whether the rest is worth it */
#define SMALL_BYTES 128u   /* smaller bodies are stored as they are */

void hk_shrink_init(struct hk_shrink *shrink, int level)
{
	*shrink = (struct hk_shrink){.level = level};
	shrink->context = ZSTD_createCCtx();
}

void hk_shrink_fini(struct hk_shrink *shrink)
{
	ZSTD_freeCCtx(shrink->context);
	free(shrink->bytes);
	free(shrink->planes);
}

/* Memory of at least SIZE bytes, or NULL. */
static void *reserve(void **memory, size_t *room, size_t size)
{
	if (*room < size) {
		free(*memory);
		*memory = malloc(size);
		*room = *memory ? size : 0;
	}
	return *memory;
}

/* Compressed size of SIZE BYTES, or SIZE if that is not smaller by a sixteenth. */
static size_t compress(struct hk_shrink *shrink, const void *bytes, size_t size, size_t width,
		       int level)
{
	const void *from = bytes;
	size_t got;

	if (!reserve(&shrink->bytes, &shrink->room, ZSTD_compressBound(size)) ||
	    (width > 1 && !reserve(&shrink->planes, &shrink->planes_room, size))) {
		return size;
	}
	if (width > 1) {
		hk_planes_write(shrink->planes, bytes, size / width, width, width);
		from = shrink->planes;
	}
	got = ZSTD_compressCCtx(shrink->context, shrink->bytes, shrink->room, from, size, level);
	return ZSTD_isError(got) || got > size - size / 16 ? size : got;
}

/* Compressed size of a payload, or SIZE; its first part shows whether the rest is worth it. */
static size_t compress_payload(struct hk_shrink *shrink, const void *bytes, size_t size,
			       size_t width)
{
	if (size >= 4 * TRIAL_BYTES &&
	    compress(shrink, bytes, TRIAL_BYTES, width, shrink->level) == TRIAL_BYTES) {
		return size;
	}
	return compress(shrink, bytes, size, width, shrink->level);
}

const void *hk_shrink_body(struct hk_shrink *shrink, struct hk_dump_block *block, const void *bytes,
			   size_t size, size_t width)
{
	const bool payload = block->type == HK_DUMP_BLOCK_PAYLOAD;
	size_t got = size;

	if (shrink->context && size >= SMALL_BYTES && !payload) {
		got = compress(shrink, bytes, size, width, ROWS_LEVEL);
		got = size / HK_DUMP_RATIO_MAX > got ? size : got;
	} else if (shrink->context && size >= SMALL_BYTES && shrink->level != 0) {
		got = compress_payload(shrink, bytes, size, width);
	}
	block->raw_bytes = size;
	block->stored_bytes = got;
	block->flags = 0;
	if (got == size) {
		return bytes;
	}
	block->flags = HK_DUMP_BLOCK_ZSTD | (width > 1 ? HK_DUMP_BLOCK_PLANES : 0);
	return shrink->bytes;
}
