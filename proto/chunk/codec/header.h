/* header.h: checks and seals the header of a chunk.
 *
 * The header carries a checksum of its own, so that a file can be walked from header to header
 * without reading what lies between, and one over the whole chunk. Pure functions on the caller's
 * bytes.
 */
#ifndef HK_CHUNK_CODEC_HEADER_H
#define HK_CHUNK_CODEC_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#include "chunk/codec/format.h"

/* Copies and validates a header from `size` >= 1 bytes. All counts and sizes in *ret_header are
 * then within the limits of format.h, total_bytes is header and sections together, and span is at
 * least that; fields missing in an older major are filled in. Returns 0, -ENODATA for fewer bytes
 * than a header, -EBADMSG for a damaged or missing header, or -EPROTO for a sound one of an unknown
 * major, which a newer hooktrace wrote. */
int hk_chunk_header_read(const void *bytes, size_t size, struct hk_chunk_header *ret_header);

/* Checks a whole chunk of exactly `size` bytes against its checksum, after the checks of
 * hk_chunk_header_read. Errors as there; also -EBADMSG if the size is not the header's total. */
int hk_chunk_header_verify(const void *bytes, size_t size, struct hk_chunk_header *ret_header);

/* Sets both checksums of a chunk of `size` bytes, at least a header. */
void hk_chunk_header_seal(void *bytes, size_t size);

/* Whether a header that was read is a tombstone, whose records are gone. */
static inline bool hk_chunk_is_evicted(const struct hk_chunk_header *header)
{
	return (header->flags & HK_CHUNK_SHED) != 0;
}

/* Number of the first chunk that a header covers; a tombstone may cover several. */
static inline uint64_t hk_chunk_first_number(const struct hk_chunk_header *header)
{
	return hk_chunk_is_evicted(header) ? header->first_number : header->number;
}

/* Records that were evicted and are stored nowhere else. */
static inline uint64_t hk_chunk_evicted_records(const struct hk_chunk_header *header)
{
	return (header->flags & (HK_CHUNK_SHED | HK_CHUNK_ELSEWHERE)) == HK_CHUNK_SHED
		   ? header->shed_records
		   : 0;
}

/* The part of these that was evicted on the node that made them. */
static inline uint64_t hk_chunk_evicted_at_source(const struct hk_chunk_header *header)
{
	return header->flags & HK_CHUNK_CAME ? 0 : hk_chunk_evicted_records(header);
}

/* Makes the tombstone of a chunk whose header was read, without positions, as it is sent: a chunk
 * of HK_CHUNK_HEADER_BYTES, sealed. FLAGS: HK_CHUNK_ELSEWHERE, HK_CHUNK_CAME; a tombstone keeps its
 * own flags. */
void hk_chunk_header_tombstone(const struct hk_chunk_header *header, uint32_t flags,
			       uint8_t ret_bytes[HK_CHUNK_HEADER_BYTES]);

#endif
