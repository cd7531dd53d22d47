#include "chunk/assembly.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/header.h"

#define ZSTD_LEVEL 1

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

int hk_assembly_init(struct hk_assembly *assembly, bool compress)
{
	*assembly = (struct hk_assembly){0};
	if (!compress) {
		return 0;
	}
	assembly->zstd = ZSTD_createCCtx();
	if (!assembly->zstd) {
		return -ENOMEM;
	}
	/* Chunks are checked as a whole by XXH3; a checksum per frame would only cost. */
	ZSTD_CCtx_setParameter(assembly->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	ZSTD_CCtx_setParameter(assembly->zstd, ZSTD_c_checksumFlag, 0);
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

/* Stores the section at out + used if that takes fewer than `raw_bytes` and returns the size, else
 * 0. */
static size_t compress(struct hk_assembly *assembly, const struct hk_assembly_part *parts,
		       size_t part_count, size_t raw_bytes)
{
	if (!assembly->zstd ||
	    reserve(&assembly->joined, &assembly->joined_capacity, raw_bytes) < 0) {
		return 0;
	}
	join(assembly->joined, parts, part_count);
	size_t stored =
	    ZSTD_compress2(assembly->zstd, assembly->out + assembly->used,
			   assembly->out_capacity - assembly->used, assembly->joined, raw_bytes);
	return ZSTD_isError(stored) || stored >= raw_bytes ? 0 : stored;
}

int hk_assembly_section(struct hk_assembly *assembly, struct hk_chunk_header *header, uint32_t type,
			const struct hk_assembly_part *parts, size_t part_count)
{
	size_t raw_bytes = 0;

	for (size_t i = 0; i < part_count; i++) {
		raw_bytes += parts[i].size;
	}
	if (!raw_bytes) {
		return 0;
	}
	if (raw_bytes > HK_CHUNK_SECTION_BYTES_MAX ||
	    assembly->section_count == HK_CHUNK_SECTION_SLOTS) {
		return -EFBIG;
	}
	if (reserve(&assembly->out, &assembly->out_capacity,
		    assembly->used + ZSTD_compressBound(raw_bytes)) < 0) {
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
	ZSTD_freeCCtx(assembly->zstd);
	free(assembly->joined);
	free(assembly->out);
	*assembly = (struct hk_assembly){0};
}
