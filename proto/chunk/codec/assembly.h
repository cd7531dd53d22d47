/* assembly.h: appends the sections of a chunk behind its header, compressed where that saves room.
 * The parts of a section may lie in several places. The assembly compresses them into one growing
 * buffer that is kept from chunk to chunk. Each part of a large section becomes a frame of its own,
 * compressed according to its kind; a small section becomes one frame. Used by writer.c. Threading:
 * locked by the caller. Lifetime: init, any number of begin / section... / finish, fini. */
#ifndef HK_CHUNK_CODEC_ASSEMBLY_H
#define HK_CHUNK_CODEC_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>

#include <zstd.h>

#include "chunk/codec/format.h"

/* Kind of data in a part, which selects its compression. */
enum hk_assembly_kind {
	HK_ASSEMBLY_REPEATS, /* repeated sequences */
	HK_ASSEMBLY_NOISE,   /* varying numbers: some bytes are more frequent, but searching for
				sequences takes most of the time and finds few */
	HK_ASSEMBLY_HASTE,   /* varying numbers in a hurry: stored */
};

struct hk_assembly_part {
	const void *bytes;
	size_t size;
	enum hk_assembly_kind kind;
};

struct hk_assembly {
	ZSTD_CCtx *repeats; /* NULL: sections are stored as they are */
	ZSTD_CCtx *noise;
	uint8_t *out;
	size_t out_capacity, used;
	unsigned section_count;
};

/* Makes an assembly, with or without compression. Returns 0 or -ENOMEM. */
int hk_assembly_init(struct hk_assembly *assembly, bool compress);

/* Starts a chunk. Returns 0 or -ENOMEM. */
int hk_assembly_begin(struct hk_assembly *assembly);

/* Appends a section, or no section if all parts are empty, and sets its entry in *header. Returns
 * 0, -EFBIG for more than HK_CHUNK_SECTION_BYTES_MAX, or -ENOMEM. */
int hk_assembly_section(struct hk_assembly *assembly, struct hk_chunk_header *header, uint32_t type,
			const struct hk_assembly_part *parts, size_t part_count);

/* Completes and seals the chunk under *header, whose identity and counts the caller has set. The
 * bytes belong to the assembly and stay until the next begin. */
void hk_assembly_finish(struct hk_assembly *assembly, struct hk_chunk_header *header,
			const void **ret_bytes, size_t *ret_size);

/* Frees everything; accepts a zeroed one. */
void hk_assembly_fini(struct hk_assembly *assembly);

#endif
