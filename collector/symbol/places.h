/* places.h: the functions at one address: those that were inlined there, and the one that they were
 * inlined in.
 *
 * Texts are copies. Not thread-safe.
 */
#ifndef HK_COLLECTOR_SYMBOL_PLACES_H
#define HK_COLLECTOR_SYMBOL_PLACES_H

#include <stddef.h>
#include <stdint.h>

#define HK_PLACES_MOST 32u	    /* functions inlined deeper are left out */
#define HK_PLACE_TEXT_BYTES 8192u   /* a longer name is left out */
#define HK_PLACES_BYTES (48u << 10) /* of all texts: names that no longer fit are left out */

struct hk_place {
	const char *function, *file; /* "": not known */
	uint32_t line;
};

/* Innermost first. */
struct hk_places {
	struct hk_place place[HK_PLACES_MOST];
	size_t count;
	char texts[HK_PLACES_BYTES];
	size_t used;
};

void hk_places_clear(struct hk_places *places);

/* Appends a place. FUNCTION and FILE may be NULL. Does nothing if PLACES is full. */
void hk_places_add(struct hk_places *places, const char *function, const char *file, uint32_t line);

/* Names the last function FUNCTION. */
void hk_places_name_last(struct hk_places *places, const char *function);

#endif
