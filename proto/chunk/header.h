/* header.h: checks and seals the header of a chunk.
 *
 * The header carries a checksum of its own, so that a file can be walked from header to header
 * without reading what lies between, and one over the whole chunk. Pure functions on the caller's
 * bytes.
 */
#ifndef HK_CHUNK_HEADER_H
#define HK_CHUNK_HEADER_H

#include <stddef.h>

#include "chunk/format.h"

/* Copies and validates a header from `size` >= 1 bytes; all counts and sizes in *ret_header are
 * then within the limits of format.h and total_bytes is header and sections together. -ENODATA:
 * fewer bytes than a header; -EBADMSG: no header or a damaged one; -EPROTO: a header of another
 * major version. */
int hk_chunk_header_read(const void *bytes, size_t size, struct hk_chunk_header *ret_header);

/* Checks a whole chunk of exactly `size` bytes against its checksum, after everything
 * hk_chunk_header_read checks. Errors as there; -EBADMSG also if the size is not the header's
 * total. */
int hk_chunk_header_verify(const void *bytes, size_t size, struct hk_chunk_header *ret_header);

/* Sets both checksums of a chunk of `size` bytes, at least a header. */
void hk_chunk_header_seal(void *bytes, size_t size);

#endif
