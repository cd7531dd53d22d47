#include "dump/write/shrink.h"

#include <stdlib.h>

#include <zstd.h>

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
}

/* Compressed size of SIZE BYTES, or SIZE if that is not smaller by a sixteenth. */
static size_t compress(struct hk_shrink *shrink, const void *bytes, size_t size, int level)
{
	const size_t needed = ZSTD_compressBound(size);
	size_t got;

	if (shrink->room < needed) {
		void *larger = realloc(shrink->bytes, needed);
		if (!larger) {
			return size;
		}
		shrink->bytes = larger;
		shrink->room = needed;
	}
	got = ZSTD_compressCCtx(shrink->context, shrink->bytes, shrink->room, bytes, size, level);
	return ZSTD_isError(got) || got > size - size / 16 ? size : got;
}

const void *hk_shrink_body(struct hk_shrink *shrink, struct hk_dump_block *block, const void *bytes,
			   size_t size)
{
	const bool payload = block->type == HK_DUMP_BLOCK_PAYLOAD;
	const int level = payload ? shrink->level : ROWS_LEVEL;
	size_t got = size;

	if (shrink->context && level != 0 && size >= SMALL_BYTES &&
	    (!payload || size < 2 * TRIAL_BYTES ||
	     compress(shrink, bytes, TRIAL_BYTES, level) < TRIAL_BYTES)) {
		got = compress(shrink, bytes, size, level);
	}
	if (!payload && size > got * HK_DUMP_RATIO_MAX) {
		got = size;
	}
	block->raw_bytes = size;
	block->stored_bytes = got;
	block->flags = got < size ? HK_DUMP_BLOCK_ZSTD : 0;
	return got < size ? shrink->bytes : bytes;
}
