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

/* Copies and validates a header from `size` >= 1 bytes; all counts and sizes in *ret_header are
 * then within the limits of format.h, total_bytes is header and sections together and span at least
 * that; fields that an older major did not have say what they would have said. -ENODATA: fewer
 * bytes than a header; -EBADMSG: no header or a damaged one; -EPROTO: a sound one of a major that
 * is not known: written by a newer hooktrace. */
int hk_chunk_header_read(const void *bytes, size_t size, struct hk_chunk_header *ret_header);

/* Checks a whole chunk of exactly `size` bytes against its checksum, after everything
 * hk_chunk_header_read checks. Errors as there; -EBADMSG also if the size is not the header's
 * total. */
int hk_chunk_header_verify(const void *bytes, size_t size, struct hk_chunk_header *ret_header);

/* Sets both checksums of a chunk of `size` bytes, at least a header. */
void hk_chunk_header_seal(void *bytes, size_t size);

/* Whether a header that was read is a tombstone: its records are not there any more. */
static inline bool hk_chunk_is_shed(const struct hk_chunk_header *header)
{
	return (header->flags & HK_CHUNK_SHED) != 0;
}

/* Number of the first chunk that a header stands for; a tombstone may stand for several. */
static inline uint64_t hk_chunk_first_number(const struct hk_chunk_header *header)
{
	return hk_chunk_is_shed(header) ? header->first_number : header->number;
}

/* Records that were given up and are nowhere else. */
static inline uint64_t hk_chunk_shed_records(const struct hk_chunk_header *header)
{
	return (header->flags & (HK_CHUNK_SHED | HK_CHUNK_ELSEWHERE)) == HK_CHUNK_SHED
		   ? header->shed_records
		   : 0;
}

/* Of those: given up where they were made. */
static inline uint64_t hk_chunk_shed_at_source(const struct hk_chunk_header *header)
{
	return header->flags & HK_CHUNK_CAME ? 0 : hk_chunk_shed_records(header);
}

/* Makes the tombstone of a chunk whose header was read, without positions, as it goes over the
 * wire: a chunk of HK_CHUNK_HEADER_BYTES, sealed. FLAGS: HK_CHUNK_ELSEWHERE, HK_CHUNK_CAME; of a
 * tombstone its own stay. */
void hk_chunk_header_tombstone(const struct hk_chunk_header *header, uint32_t flags,
			       uint8_t ret_bytes[HK_CHUNK_HEADER_BYTES]);

#endif
