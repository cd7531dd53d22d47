/* reader.h: takes one chunk apart. open checks the checksum; sections are decompressed and decoded
 * on request. Everything is validated: hostile bytes give an error, and never need more memory than
 * the limits of format.h. Threading: one thread at a time. Lifetime: the bytes given to open must
 * last until the next open; results of the other functions belong to the reader and last as long. A
 * reader keeps its memory and may open any number of chunks. */
#ifndef HK_CHUNK_READ_READER_H
#define HK_CHUNK_READ_READER_H

#include <stddef.h>

#include "chunk/codec/format.h"

struct hk_chunk_reader;

/* Makes a reader; NULL if out of memory. */
struct hk_chunk_reader *hk_chunk_reader_new(void);

/* Frees a reader and returns NULL; accepts NULL. */
struct hk_chunk_reader *hk_chunk_reader_free(struct hk_chunk_reader *reader);

/* Opens a chunk of exactly `size` bytes. Returns 0 or the errors of hk_chunk_header_verify; the
 * reader then has no chunk. */
int hk_chunk_reader_open(struct hk_chunk_reader *reader, const void *bytes, size_t size);

/* Header of the open chunk, all zero without one. */
const struct hk_chunk_header *hk_chunk_reader_header(const struct hk_chunk_reader *reader);

/* Page chain positions, in no order. Returns 0, -EBADMSG or -ENOMEM. */
int hk_chunk_reader_positions(struct hk_chunk_reader *reader,
			      const struct hk_chunk_position **ret_positions, size_t *ret_count);

/* The lanes: threads and streams that the records point to. Returns 0, -EBADMSG or -ENOMEM. */
int hk_chunk_reader_threads(struct hk_chunk_reader *reader,
			    const struct hk_chunk_thread **ret_threads, size_t *ret_count);

/* Definitions of the sites that occur. Returns 0, -EBADMSG or -ENOMEM. */
int hk_chunk_reader_sites(struct hk_chunk_reader *reader, const struct hk_chunk_site **ret_sites,
			  size_t *ret_count);

/* Records of HK_SECTION_LANES or HK_SECTION_LONG_LANES, each lane's in order of their ends. Returns
 * 0, -EBADMSG or -ENOMEM. */
int hk_chunk_reader_records(struct hk_chunk_reader *reader, uint32_t type,
			    const struct hk_record **ret_records, size_t *ret_count);

#endif
