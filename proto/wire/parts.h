/* parts.h: splits the message of a large process into pieces near a wanted size. The first piece
 * has everything but the lists that are sent element by element (wire/change.h) and the statistics
 * of sites; each further one has some elements of one of these, and all numbers. Every piece is a
 * change: merged in any order they give the whole. A piece borrows from the message. No state but
 * the struct; locked by the caller. */
#ifndef HK_WIRE_PARTS_H
#define HK_WIRE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

/* Begin with {.whole = ..., .most_bytes = ...}. */
struct hk_parts {
	const Hk__Process *whole;
	size_t most_bytes; /* packed bytes of a piece's elements or statistics; a single one may be
			      larger */
	bool begun;
	unsigned field;		/* index of the field whose elements come next */
	uint32_t number;	/* of pieces of that field so far */
	size_t element, bucket; /* next ones */
	Hk__Process bare;	/* the whole without what is split */
	Hk__Process piece;
	Hk__Cells cells; /* of `piece` */
	uint64_t key;	 /* of the last piece, the same for the next message of the process */
};

/* The next piece, valid until the next call; NULL at the end. */
const Hk__Process *hk_parts_next(struct hk_parts *parts);

/* Digest of what only the last piece has, equal for equal contents. Returns 0 or -ENOMEM. */
int hk_parts_digest(const struct hk_parts *parts, uint64_t *ret_digest);

#endif
