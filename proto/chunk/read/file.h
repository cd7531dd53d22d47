/* file.h: files of chunks, one behind the other: appended, walked, scanned after a restart.
 *
 * A file holds chunks of one process image with rising numbers. What a crash tore is at the end and
 * is cut off by whoever writes next; what is damaged in the middle is stepped over, to the next
 * header that is whole. Reads are bounded preads: nothing is mapped, so a file that shrinks
 * meanwhile gives an error and no signal. Threading: one writer per file, any number of readers.
 */
#ifndef HK_CHUNK_READ_FILE_H
#define HK_CHUNK_READ_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/codec/format.h"

/* Behind the first chunk of a file this much is left free, counted from the file's begin: what
 * stands for many chunks that were given up needs a place that nothing else was in. A hole, it
 * takes no room. */
#define HK_CHUNK_FILE_ROOM 65536u
#define HK_CHUNK_PAGE_BYTES 4096u

/* Where the chunk behind `end_bytes` begins: there, or at the next page if its header would lie
 * across the border, because a header is changed in place and must be whole whoever dies; the
 * second chunk behind HK_CHUNK_FILE_ROOM. */
uint64_t hk_chunk_file_place(uint64_t end_bytes);

/* Writes a chunk at byte `end_bytes`, the end of the file's valid part or the place behind it. On
 * any error the file is cut back to that end, so that no torn tail stays, and -errno of the write
 * is returned (-ENOSPC, -EFBIG, -EIO ...). */
int hk_chunk_file_append(int fd, uint64_t end_bytes, const void *bytes, size_t size);

/* A walk from header to header. Start it with HK_CHUNK_WALK(fd). */
struct hk_chunk_walk {
	int fd;
	bool started;
	uint64_t at;	      /* where the next header should be */
	uint64_t last_number; /* of the chunks met so far */
	uint8_t process[16];
};
#define HK_CHUNK_WALK(file)    \
	(struct hk_chunk_walk) \
	{                      \
		.fd = (file)   \
	}

/* Finds the next chunk or tombstone that has a sound header and lies wholly inside the file, with
 * the process of the first chunk and a number above the last; whatever else is there is stepped
 * over. The chunk's body is not looked at. 1: found; 0: end of the file; -EPROTO: here is a chunk
 * that a newer hooktrace wrote, so the rest is not for this one; -errno of reading. */
int hk_chunk_walk_next(struct hk_chunk_walk *walk, struct hk_chunk_header *ret_header,
		       uint64_t *ret_offset);

/* Memory that file reads are put into; zero it first, free `bytes` in the end. */
struct hk_chunk_buffer {
	uint8_t *bytes;
	size_t capacity;
};

/* Reads exactly `size` bytes at `offset` into the buffer. -EBADMSG: the file is shorter; -ENOMEM;
 * -errno of reading. */
int hk_chunk_file_read(int fd, uint64_t offset, size_t size, struct hk_chunk_buffer *buffer);

/* Of a chunk at `offset` whose header was sound and whose body cannot be read: whether it has been
 * given up in between, which is no damage. */
bool hk_chunk_file_gone(int fd, uint64_t offset);

/* What a file holds. */
struct hk_chunk_scan {
	uint64_t valid_bytes; /* end of the last sound chunk: cut the file here before appending */
	uint64_t file_bytes;
	uint64_t chunks;	/* sound ones */
	uint64_t skipped;	/* damaged stretches before the last sound chunk */
	uint64_t skipped_bytes; /* their bytes */
	uint64_t records;
	uint64_t stored_bytes;	    /* of sound chunks, without what was punched out */
	uint64_t shed_records;	    /* given up since */
	uint64_t elsewhere_records; /* no longer here but elsewhere */
	uint64_t lost_records;	    /* of the last sound chunk: all until there */
	uint64_t last_number;	    /* 0: no chunk */
	uint64_t max_end_ticks;
	uint8_t process[16];
	struct hk_chunk_position
	    *positions; /* latest of each page chain, sorted by slot and stream */
	size_t position_count;
};

/* Reads and checks every chunk of a file. Damage is no error but shows in the counts. On success
 * the caller gives the result to hk_chunk_scan_fini. -EPROTO: as above, leave the file alone;
 * -EFBIG: more than a million page chains; -ENOMEM; -errno of reading. */
int hk_chunk_file_scan(int fd, struct hk_chunk_scan *ret_scan);

/* Frees what a scan found; a zeroed one is fine. */
void hk_chunk_scan_fini(struct hk_chunk_scan *scan);

#endif
