#define ZSTD_STATIC_LINKING_ONLY /* for ZSTD_c_literalCompressionMode */
#include "chunk/codec/assembly.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/codec/header.h"

#define ZSTD_LEVEL 1
#define SMALL_BYTES 4096u /* of a section that is one frame */
#define SAMPLE_BYTES 2048u
#define FRAME_MAGIC 0xfd2fb528u
#define FRAME_SIZED 0xa0u /* descriptor: no window, 4 bytes of content size */
#define FRAME_HEAD_BYTES 9u
#define BLOCK_HEAD_BYTES 3u
#define BLOCK_BYTES_MAX (128u << 10)

static int reserve(uint8_t **bytes, size_t *capacity, size_t needed)
{
	size_t wanted = *capacity ? *capacity : 65536;

	if (needed <= *capacity) {
		return 0;
	}
	while (wanted < needed) {
		wanted *= 2;
	}
	uint8_t *grown = realloc(*bytes, wanted);
	if (!grown) {
		return -ENOMEM;
	}
	*bytes = grown;
	*capacity = wanted;
	return 0;
}

static ZSTD_CCtx *new_context(void)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();

	if (context) {
		/* Chunks are checked as a whole by XXH3; a checksum per frame would only cost. */
		ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 0);
	}
	return context;
}

/* Takes long steps past bytes without matches: they are entropy-coded anyway. A library without
 * this parameter is only slower. */
static void pass_over_sequences(ZSTD_CCtx *context)
{
	if (ZSTD_isError(
		ZSTD_CCtx_setParameter(context, ZSTD_c_literalCompressionMode, ZSTD_ps_enable))) {
		return;
	}
	ZSTD_CCtx_setParameter(context, ZSTD_c_strategy, ZSTD_fast);
	ZSTD_CCtx_setParameter(context, ZSTD_c_targetLength, ZSTD_TARGETLENGTH_MAX);
	ZSTD_CCtx_setParameter(context, ZSTD_c_minMatch, 7);
	ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, ZSTD_HASHLOG_MIN);
}

int hk_assembly_init(struct hk_assembly *assembly, bool compress)
{
	*assembly = (struct hk_assembly){0};
	if (!compress) {
		return 0;
	}
	assembly->repeats = new_context();
	assembly->noise = new_context();
	if (!assembly->repeats || !assembly->noise) {
		return -ENOMEM;
	}
	pass_over_sequences(assembly->noise);
	return 0;
}

int hk_assembly_begin(struct hk_assembly *assembly)
{
	assembly->used = HK_CHUNK_HEADER_BYTES;
	assembly->section_count = 0;
	return reserve(&assembly->out, &assembly->out_capacity, HK_CHUNK_HEADER_BYTES);
}

static void join(uint8_t *to, const struct hk_assembly_part *parts, size_t part_count)
{
	for (size_t i = 0; i < part_count; i++) {
		if (parts[i].size) {
			memcpy(to, parts[i].bytes, parts[i].size);
			to += parts[i].size;
		}
	}
}

/* A frame of blocks that hold their bytes as they are; returns its size. */
static size_t put_stored(uint8_t *to, const uint8_t *bytes, size_t size)
{
	const uint32_t magic = FRAME_MAGIC, size32 = (uint32_t)size;
	uint8_t *at = to + FRAME_HEAD_BYTES;

	memcpy(to, &magic, sizeof(magic));
	to[sizeof(magic)] = FRAME_SIZED;
	memcpy(to + sizeof(magic) + 1, &size32, sizeof(size32));
	for (size_t left = size; left > 0;) {
		uint32_t block = left < BLOCK_BYTES_MAX ? (uint32_t)left : BLOCK_BYTES_MAX;
		uint32_t head = block << 3 | (block == left); /* type 0: stored; bit 0: the last */
		memcpy(at, &head, BLOCK_HEAD_BYTES);
		memcpy(at + BLOCK_HEAD_BYTES, bytes, block);
		at += BLOCK_HEAD_BYTES + block;
		bytes += block;
		left -= block;
	}
	return (size_t)(at - to);
}

static size_t stored_bound(size_t size)
{
	return FRAME_HEAD_BYTES + size + (size / BLOCK_BYTES_MAX + 1) * BLOCK_HEAD_BYTES;
}

static size_t frame_bound(size_t size)
{
	size_t stored = stored_bound(size), packed = ZSTD_compressBound(size);

	return stored > packed ? stored : packed;
}

/* Whether coding would save less than an eighth of the bytes, judged by a sample from their middle:
 * too little for its time. */
static bool is_random(struct hk_assembly *assembly, uint8_t *scratch,
		      const struct hk_assembly_part *part)
{
	if (part->kind != HK_ASSEMBLY_NOISE || part->size < 4 * (size_t)SAMPLE_BYTES) {
		return false;
	}
	const uint8_t *sample = (const uint8_t *)part->bytes + part->size / 2;
	size_t size = ZSTD_compress2(assembly->noise, scratch, ZSTD_compressBound(SAMPLE_BYTES),
				     sample, SAMPLE_BYTES);
	return !ZSTD_isError(size) && size > SAMPLE_BYTES / 8 * 7;
}

/* Writes one frame of a part and returns its size, 0 if the library fails. `to` has room for the
 * bound of it. */
static size_t put_frame(struct hk_assembly *assembly, uint8_t *to,
			const struct hk_assembly_part *part)
{
	if (part->kind == HK_ASSEMBLY_HASTE || is_random(assembly, to, part)) {
		return put_stored(to, part->bytes, part->size);
	}
	ZSTD_CCtx *context = part->kind == HK_ASSEMBLY_NOISE ? assembly->noise : assembly->repeats;
	size_t size = ZSTD_compress2(context, to, frame_bound(part->size), part->bytes, part->size);
	return ZSTD_isError(size) ? 0 : size;
}

/* Stores the section at out + used as frames if that takes fewer than `raw_bytes`, and returns the
 * size, else 0. */
static size_t compress(struct hk_assembly *assembly, const struct hk_assembly_part *parts,
		       size_t part_count, size_t raw_bytes)
{
	struct hk_assembly_part one = {.size = raw_bytes};
	uint8_t joined[SMALL_BYTES], *to = assembly->out + assembly->used;
	size_t stored = 0;

	if (!assembly->repeats) {
		return 0;
	}
	if (part_count > 1 && raw_bytes <= sizeof(joined)) {
		join(joined, parts, part_count);
		one.bytes = joined;
		parts = &one;
		part_count = 1;
	}
	for (size_t i = 0; i < part_count; i++) {
		size_t size = parts[i].size ? put_frame(assembly, to + stored, &parts[i]) : 0;
		if (!size && parts[i].size) {
			return 0;
		}
		stored += size;
	}
	return stored < raw_bytes ? stored : 0;
}

int hk_assembly_section(struct hk_assembly *assembly, struct hk_chunk_header *header, uint32_t type,
			const struct hk_assembly_part *parts, size_t part_count)
{
	size_t raw_bytes = 0, bound = 0;

	for (size_t i = 0; i < part_count; i++) {
		raw_bytes += parts[i].size;
		bound += frame_bound(parts[i].size);
	}
	if (!raw_bytes) {
		return 0;
	}
	if (raw_bytes > HK_CHUNK_SECTION_BYTES_MAX ||
	    assembly->section_count == HK_CHUNK_SECTION_SLOTS) {
		return -EFBIG;
	}
	if (reserve(&assembly->out, &assembly->out_capacity, assembly->used + bound) < 0) {
		return -ENOMEM;
	}
	uint32_t codec = HK_CODEC_ZSTD;
	size_t stored = compress(assembly, parts, part_count, raw_bytes);
	if (!stored) {
		codec = HK_CODEC_NONE;
		stored = raw_bytes;
		join(assembly->out + assembly->used, parts, part_count);
	}
	assembly->used += stored;
	header->sections[assembly->section_count++] = (struct hk_chunk_section){
	    .type = type,
	    .codec = codec,
	    .raw_bytes = (uint32_t)raw_bytes,
	    .stored_bytes = (uint32_t)stored,
	};
	return 0;
}

void hk_assembly_finish(struct hk_assembly *assembly, struct hk_chunk_header *header,
			const void **ret_bytes, size_t *ret_size)
{
	header->magic = HK_CHUNK_MAGIC;
	header->major = HK_CHUNK_MAJOR;
	header->minor = HK_CHUNK_MINOR;
	header->header_bytes = HK_CHUNK_HEADER_BYTES;
	header->total_bytes = header->span = assembly->used;
	header->flags = 0;
	memcpy(assembly->out, header, sizeof(*header));
	hk_chunk_header_seal(assembly->out, assembly->used);
	*ret_bytes = assembly->out;
	*ret_size = assembly->used;
}

void hk_assembly_fini(struct hk_assembly *assembly)
{
	ZSTD_freeCCtx(assembly->repeats);
	ZSTD_freeCCtx(assembly->noise);
	free(assembly->out);
	*assembly = (struct hk_assembly){0};
}
