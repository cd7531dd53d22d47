/* front.h: gives up the oldest chunks of a file, whose bodies go back to the file system.
 *
 * A chunk that is shed becomes a tombstone in its place: its header, which says how many records it
 * had, and the positions of its page chains; what lies behind them is punched out of the file.
 * Tombstones of one kind that follow one another become one, so that a file that is written for
 * ever does not fill with them; the first of a file stays for itself, because whatever stands in
 * for others is reached through the one before. Every step is one write within a page: readers, and
 * whoever comes after a kill, see the old or the new. Threading: one thread, that of the file's
 * writer if it has one. Lifetime: HK_CHUNK_FRONT(fd), any calls; there is nothing to free.
 */
#ifndef HK_CHUNK_READ_FRONT_H
#define HK_CHUNK_READ_FRONT_H

#include "chunk/codec/header.h"
#include "chunk/read/file.h"

struct hk_chunk_place {
	uint64_t offset;
	struct hk_chunk_header header;
};

struct hk_chunk_front {
	struct hk_chunk_walk walk; /* behind the last chunk that was looked at */
	bool found;		   /* `oldest` is there */
	bool can_punch;		   /* the file system said so */
	struct hk_chunk_place oldest;
	/* The last tombstones before it; header.number 0: none. */
	struct hk_chunk_place before[2]; /* [1] is the nearer one */
};
#define HK_CHUNK_FRONT(file)            \
	(struct hk_chunk_front)         \
	{                               \
		.walk = {.fd = (file) } \
	}

/* Looks for the oldest chunk with records or a body. May be asked again when the file has grown.
 * 1: front->oldest; 0: none so far; -EPROTO, -errno: as of hk_chunk_walk_next. */
int hk_chunk_front_find(struct hk_chunk_front *front);

/* Gives up front->oldest, which must have been found; the next one is then to be found. FLAGS: 0 or
 * HK_CHUNK_ELSEWHERE. MERGE: it may be joined with the tombstone before it. *RET_BYTES: freed.
 * -EOPNOTSUPP: the file system cannot give back parts of a file, nothing was changed; -errno:
 * likewise, or its body could not be freed and never will. */
int hk_chunk_front_shed(struct hk_chunk_front *front, uint32_t flags, bool merge,
			uint64_t *ret_bytes);

/* Frees what one that was killed had given up and could not free any more. To be called when the
 * front was found first; errors do no harm. */
void hk_chunk_front_sweep(struct hk_chunk_front *front);

#endif
