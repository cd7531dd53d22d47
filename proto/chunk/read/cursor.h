/* cursor.h: the records of one process, from its file of chunks, in order of their starts, in
 * bounded memory. Each chunk has up to two blocks of records: ordinary calls, and those longer than
 * 20 ms. Opening reads only the headers and sorts the blocks by their smallest start. A block is
 * loaded when the records handed out reach that start, and freed when it is used up. So only blocks
 * that overlap in time are in memory, for any length of the file; each chunk costs 64 bytes. Of
 * calls that start together the outer one comes first, so begins and ends nest. Threading: one
 * thread for all cursors of a loader. Chunks appended to the file after opening are not seen. */
#ifndef HK_CHUNK_READ_CURSOR_H
#define HK_CHUNK_READ_CURSOR_H

#include <stdbool.h>
#include <stddef.h>

#include "chunk/read/block.h"

struct hk_cursor;

struct hk_cursor_stats {
	uint64_t chunks;  /* chunks with a sound header */
	uint64_t records; /* records in their headers, including chunks up to the number given */
	uint64_t lost_records; /* of the last chunk */
	uint64_t max_end_ticks;
	uint64_t shed_records; /* evicted before the cursor was opened */
	uint64_t damaged;      /* unreadable blocks so far */
	uint64_t evicted;      /* blocks so far that were evicted after the cursor was opened */
	uint64_t late; /* batches so far that began before the end of the last one: only in foreign
			  files */
	uint8_t process[16];
};

/* Opens a cursor on a file of chunks. `fd` and `loader` are borrowed until the cursor is freed;
 * cursors may share a loader. An empty file gives no records. Returns 0, -EPROTO if a newer
 * hooktrace wrote the file, -ENOMEM, or -errno of reading. */
int hk_cursor_new(struct hk_loader *loader, int fd, struct hk_cursor **ret_cursor);

/* The same without the records of the chunks up to `number`. */
int hk_cursor_new_after(struct hk_loader *loader, int fd, uint64_t number,
			struct hk_cursor **ret_cursor);

/* The same without the records of chunks that WANTS rejects; it is called once for each chunk, in
 * the order of the file, tombstones and chunks without records included. */
typedef bool hk_cursor_wants(void *context, const struct hk_chunk_header *header);
int hk_cursor_new_some(struct hk_loader *loader, int fd, hk_cursor_wants *wants, void *context,
		       struct hk_cursor **ret_cursor);

/* Frees a cursor and returns NULL; accepts NULL. */
struct hk_cursor *hk_cursor_free(struct hk_cursor *cursor);

/* Hands out the next records, at least one, sorted and all before later batches; valid until the
 * next batch. Returns 1, 0 at the end, -ENOMEM, or -errno of reading. A damaged block is skipped
 * and counted, not an error. */
int hk_cursor_batch(struct hk_cursor *cursor, const struct hk_record **ret_records,
		    size_t *ret_count);

/* Definition of a site that occurred in the records handed out so far; NULL if no chunk defines it.
 * Lasts as long as the cursor. */
const struct hk_chunk_site *hk_cursor_site(const struct hk_cursor *cursor, uint32_t id);

/* Counts so far. */
const struct hk_cursor_stats *hk_cursor_stats(const struct hk_cursor *cursor);

#endif
