/* positions.h: positions of page chains, gathered from many chunks; the latest of each chain
 * counts. Used by file.c and front.c. Threading: locked by the caller. Lifetime: {0}, any calls,
 * fini. */
#ifndef HK_CHUNK_CODEC_POSITIONS_H
#define HK_CHUNK_CODEC_POSITIONS_H

#include <stddef.h>

#include "chunk/codec/format.h"

struct hk_positions {
	struct hk_chunk_position *list; /* sorted by slot and stream, no chain twice */
	size_t count;
};

/* Takes in one chunk's positions, which may be in any order and replace earlier ones. Returns 0,
 * -EFBIG for more than a million chains, or -ENOMEM. */
int hk_positions_take(struct hk_positions *positions, const struct hk_chunk_position *fresh,
		      size_t count);

/* Frees the memory; accepts a zeroed one. */
void hk_positions_fini(struct hk_positions *positions);

#endif
