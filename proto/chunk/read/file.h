/* file.h: files of chunks, one behind the other: appended, walked, scanned after a restart. A file
 * holds chunks of one process image with rising numbers. A crash leaves a torn tail, which the next
 * writer cuts off. Readers skip damage in the middle, up to the next sound header. Reads are
 * bounded preads: nothing is mapped, so a file that shrinks in between gives an error and no
 * signal. Threading: one writer per file, any number of readers. */
#ifndef HK_CHUNK_READ_FILE_H
#define HK_CHUNK_READ_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/codec/format.h"

/* Free room behind the first chunk, counted from the file's begin: a joined tombstone needs a place
 * that no chunk used before. It is a hole and takes no disk space. */
#define HK_CHUNK_FILE_ROOM 65536u
#define HK_CHUNK_PAGE_BYTES 4096u

/* Begin of the chunk behind `end_bytes`: that offset, or the next page if its header would cross a
 * page boundary, because headers are replaced in place and must survive a kill whole. The second
 * chunk begins at HK_CHUNK_FILE_ROOM or later. */
uint64_t hk_chunk_file_location(uint64_t end_bytes);

/* Writes a chunk at byte `end_bytes`, the end of the file's valid part or the place behind it. On
 * any error the file is cut back to that end, so that no torn tail stays. Returns 0 or -errno of
 * the write (-ENOSPC, -EFBIG, -EIO ...). */
int hk_chunk_file_append(int fd, uint64_t end_bytes, const void *bytes, size_t size);

/* A walk from header to header. Start it with HK_CHUNK_WALK(fd). */
struct hk_chunk_walk {
	int fd;
	bool started;
	uint64_t at;	      /* expected offset of the next header */
	uint64_t last_number; /* number of the last chunk found */
	uint8_t process[16];
};
#define HK_CHUNK_WALK(file)    \
	(struct hk_chunk_walk) \
	{                      \
		.fd = (file)   \
	}

/* Finds the next chunk or tombstone with a sound header that lies wholly inside the file, with the
 * process of the first chunk and a number above the last; skips everything else. Does not read the
 * chunk's body. Returns 1, 0 at the end of the file, -EPROTO if a newer hooktrace wrote this chunk,
 * so that the rest of the file cannot be read, or -errno of reading. */
int hk_chunk_walk_next(struct hk_chunk_walk *walk, struct hk_chunk_header *ret_header,
		       uint64_t *ret_offset);

/* Buffer for reads from files; zero it first, free `bytes` in the end. */
struct hk_chunk_buffer {
	uint8_t *bytes;
	size_t capacity;
};

/* Reads exactly `size` bytes at `offset` into the buffer. Returns 0, -EBADMSG if the file is
 * shorter, -ENOMEM, or -errno of reading. */
int hk_chunk_file_read(int fd, uint64_t offset, size_t size, struct hk_chunk_buffer *buffer);

/* For a chunk at `offset` with a sound header and an unreadable body: whether it has been evicted
 * in between, which is no damage. */
bool hk_chunk_file_is_evicted(int fd, uint64_t offset);

/* Contents of a file. */
struct hk_chunk_scan {
	uint64_t valid_bytes; /* end of the last sound chunk: cut the file here before appending */
	uint64_t file_bytes;
	uint64_t chunks;	/* sound chunks */
	uint64_t skipped;	/* damaged stretches before the last sound chunk */
	uint64_t skipped_bytes; /* their bytes */
	uint64_t records;
	uint64_t stored_bytes;	    /* of sound chunks, without holes */
	uint64_t shed_records;	    /* records evicted since */
	uint64_t elsewhere_records; /* records no longer in this file but stored elsewhere */
	uint64_t lost_records;	    /* of the last sound chunk: all up to its end */
	uint64_t last_number;	    /* 0: no chunk */
	uint64_t max_end_ticks;
	uint8_t process[16];
	struct hk_chunk_position
	    *positions; /* latest of each page chain, sorted by slot and stream */
	size_t position_count;
};

/* Reads and checks every chunk of a file. Damage is not an error but shows in the counts. On
 * success the caller passes the result to hk_chunk_scan_fini. Returns 0, -EPROTO as above: do not
 * change the file, -EFBIG for more than a million page chains, -ENOMEM, or -errno of reading. */
int hk_chunk_file_scan(int fd, struct hk_chunk_scan *ret_scan);

/* Frees the results of a scan; accepts a zeroed one. */
void hk_chunk_scan_fini(struct hk_chunk_scan *scan);

#endif
