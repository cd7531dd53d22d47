/* front.h: evicts the oldest chunks of a file and frees their blocks. An evicted chunk becomes a
 * tombstone in its place: its header, which says how many records it had, and the positions of its
 * page chains; the rest is punched out of the file. Consecutive tombstones of one kind are joined,
 * so that a file that is written for ever does not fill with them. The first tombstone of a file is
 * never joined, because a joined one is reached through the one before. Every step is one write
 * within a page: readers, and the successor of a killed writer, see the old or the new state.
 * Threading: one thread, that of the file's writer if it has one. Lifetime: HK_CHUNK_FRONT(fd), any
 * calls; there is nothing to free. */
#ifndef HK_CHUNK_READ_FRONT_H
#define HK_CHUNK_READ_FRONT_H

#include "chunk/codec/header.h"
#include "chunk/read/file.h"

struct hk_chunk_location {
	uint64_t offset;
	struct hk_chunk_header header;
};

struct hk_chunk_front {
	struct hk_chunk_walk walk; /* position behind the last chunk that was checked */
	bool found;		   /* `oldest` is valid */
	bool can_punch;		   /* the file system supports punching holes */
	struct hk_chunk_location oldest;
	/* The last tombstones before it; header.number 0: none. */
	struct hk_chunk_location before[2]; /* [1] is the nearer one */
};
#define HK_CHUNK_FRONT(file)            \
	(struct hk_chunk_front)         \
	{                               \
		.walk = {.fd = (file) } \
	}

/* Finds the oldest chunk with records or a body. May be called again when the file has grown.
 * Returns 1 and front->oldest, 0 if there is no such chunk so far, or the errors of
 * hk_chunk_walk_next. */
int hk_chunk_front_find(struct hk_chunk_front *front);

/* Evicts front->oldest, which must have been found; find the next one after that. FLAGS: 0 or
 * HK_CHUNK_ELSEWHERE. MERGE: it may be joined with the tombstone before it. *RET_BYTES: bytes
 * freed. Returns 0, -EOPNOTSUPP without any change if the file system cannot punch holes, or
 * -errno: either no change, or the body could not be freed and never will. */
int hk_chunk_front_evict(struct hk_chunk_front *front, uint32_t flags, bool merge,
			 uint64_t *ret_bytes);

/* Frees the bodies that a killed predecessor had evicted but not freed. Call it after the first
 * hk_chunk_front_find; errors do no harm. */
void hk_chunk_front_sweep(struct hk_chunk_front *front);

#endif
