/* assembly.h: puts the sections of a chunk behind its header, compressed where that helps.
 *
 * The parts of a section may lie in several places; the assembly compresses and appends them to one
 * growing buffer that is kept from chunk to chunk: each part of a large section as a frame of its
 * own, in the way that suits what it holds, a small section as one. Used by writer.c. Threading:
 * locked by the caller. Lifetime: init, any number of begin / section... / finish, fini.
 */
#ifndef HK_CHUNK_CODEC_ASSEMBLY_H
#define HK_CHUNK_CODEC_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>

#include <zstd.h>

#include "chunk/codec/format.h"

/* What the bytes of a part are like. */
enum hk_assembly_kind {
	HK_ASSEMBLY_REPEATS, /* sequences that come again */
	HK_ASSEMBLY_NOISE,   /* numbers that vary: some bytes are more frequent, but looking for
				sequences takes most of the time and finds nothing */
	HK_ASSEMBLY_HASTE,   /* numbers that vary, and no time to look at them: stored */
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

/* Makes an assembly, with or without compression; -ENOMEM. */
int hk_assembly_init(struct hk_assembly *assembly, bool compress);

/* Starts a chunk; -ENOMEM. */
int hk_assembly_begin(struct hk_assembly *assembly);

/* Appends a section, nothing if its parts are empty. -EFBIG: more than HK_CHUNK_SECTION_BYTES_MAX;
 * -ENOMEM. Sets the section's entry in *header. */
int hk_assembly_section(struct hk_assembly *assembly, struct hk_chunk_header *header, uint32_t type,
			const struct hk_assembly_part *parts, size_t part_count);

/* Completes and seals the chunk under *header, whose identity and counts the caller has set. The
 * bytes belong to the assembly and stay until the next begin. */
void hk_assembly_finish(struct hk_assembly *assembly, struct hk_chunk_header *header,
			const void **ret_bytes, size_t *ret_size);

/* Frees everything; a zeroed one is fine. */
void hk_assembly_fini(struct hk_assembly *assembly);

#endif
