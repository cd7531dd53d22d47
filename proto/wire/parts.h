/* parts.h: splits the message of a process with many call sites into pieces near a wanted size. The
 * first piece has everything but sites and their statistics; each further one some of those, and
 * all numbers. Every piece is a change (wire/change.h): merged in any order they give the whole. A
 * piece borrows from the message. No state but the struct; locked by the caller. */
#ifndef HK_WIRE_PARTS_H
#define HK_WIRE_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

/* Begin with {.whole = ..., .most_bytes = ...}. */
struct hk_parts {
	const Hk__Process *whole;
	size_t most_bytes; /* packed bytes of a piece's sites or statistics; a single item may be
			      larger */
	size_t count;	   /* pieces so far */
	size_t site, row, bucket; /* next ones */
	Hk__Process piece;
	Hk__Cells cells; /* of `piece` */
};

/* The next piece, valid until the next call; NULL at the end. */
const Hk__Process *hk_parts_next(struct hk_parts *parts);

/* Digest of the last piece's sites and statistics, equal for equal contents. Returns 0 or
 * -ENOMEM. */
int hk_parts_digest(const struct hk_parts *parts, uint64_t *ret_digest);

#endif
