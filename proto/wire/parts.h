/* parts.h: a process's message in pieces, none much larger than asked for, because it knows so many
 * call sites.
 *
 * The first piece has everything but sites and their statistics; each further one some of those,
 * and all numbers besides. Every piece is a change (wire/change.h): merged in any order they are
 * the whole. A piece borrows from the message. No state but the struct; locked by the caller.
 */
#ifndef HK_WIRE_PARTS_H
#define HK_WIRE_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

/* Begin with {.whole = ..., .most_bytes = ...}. */
struct hk_parts {
	const Hk__Process *whole;
	size_t most_bytes; /* packed, of a piece's sites or statistics; one of them may be more */
	size_t count;	   /* pieces so far */
	size_t site, row, bucket; /* the next ones */
	Hk__Process piece;
	Hk__Cells cells; /* of `piece` */
};

/* The next piece, good until the next call; NULL: there is none. */
const Hk__Process *hk_parts_next(struct hk_parts *parts);

/* A number that tells whether the last piece has the same sites and statistics as another time.
 * -ENOMEM. */
int hk_parts_digest(const struct hk_parts *parts, uint64_t *ret_digest);

#endif
