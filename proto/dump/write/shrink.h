/* shrink.h: bodies of blocks, compressed where that saves enough. One thread at a time. */
#ifndef HK_DUMP_SHRINK_H
#define HK_DUMP_SHRINK_H

#include "dump/format.h"

struct hk_shrink {
	struct ZSTD_CCtx_s *context;
	void *bytes, *planes;
	size_t room, planes_room;
	int level; /* of payloads; 0: they are not compressed */
};

/* Without memory nothing is compressed. */
void hk_shrink_init(struct hk_shrink *shrink, int level);
void hk_shrink_fini(struct hk_shrink *shrink);

/* Sets flags, raw and stored bytes of BLOCK for the SIZE BYTES of its body, which consists of
 * values of WIDTH bytes. Returns what is to be stored: BYTES, or memory of SHRINK until the next
 * call. */
const void *hk_shrink_body(struct hk_shrink *shrink, struct hk_dump_block *block, const void *bytes,
			   size_t size, size_t width);

#endif
