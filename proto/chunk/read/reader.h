/* reader.h: takes one chunk apart.
 *
 * open checks the checksum; the sections are decompressed and decoded when asked for. Everything is
 * validated: hostile bytes give an error, and never cost more memory than the limits of format.h
 * allow. Threading: one thread at a time. Lifetime: the bytes given to open must last until the
 * next open; what the other functions return belongs to the reader and lasts as long. A reader
 * keeps its memory and may open any number of chunks.
 */
#ifndef HK_CHUNK_READ_READER_H
#define HK_CHUNK_READ_READER_H

#include <stddef.h>

#include "chunk/codec/format.h"

struct hk_chunk_reader;

/* Makes a reader; NULL when out of memory. */
struct hk_chunk_reader *hk_chunk_reader_new(void);

/* Frees a reader and returns NULL; NULL is fine. */
struct hk_chunk_reader *hk_chunk_reader_free(struct hk_chunk_reader *reader);

/* Takes on a chunk of exactly `size` bytes. Errors of hk_chunk_header_verify; the reader is then
 * without a chunk. */
int hk_chunk_reader_open(struct hk_chunk_reader *reader, const void *bytes, size_t size);

/* Header of the open chunk, all zero without one. */
const struct hk_chunk_header *hk_chunk_reader_header(const struct hk_chunk_reader *reader);

/* Page chain positions, sorted by nothing. -EBADMSG, -ENOMEM. */
int hk_chunk_reader_positions(struct hk_chunk_reader *reader,
			      const struct hk_chunk_position **ret_positions, size_t *ret_count);

/* The lanes: threads and streams that the records point to. -EBADMSG, -ENOMEM. */
int hk_chunk_reader_threads(struct hk_chunk_reader *reader,
			    const struct hk_chunk_thread **ret_threads, size_t *ret_count);

/* Definitions of the sites that occur. -EBADMSG, -ENOMEM. */
int hk_chunk_reader_sites(struct hk_chunk_reader *reader, const struct hk_chunk_site **ret_sites,
			  size_t *ret_count);

/* Records of HK_SECTION_LANES or HK_SECTION_LONG_LANES, each lane's in order of their ends.
 * -EBADMSG, -ENOMEM. */
int hk_chunk_reader_records(struct hk_chunk_reader *reader, uint32_t type,
			    const struct hk_record **ret_records, size_t *ret_count);

#endif
