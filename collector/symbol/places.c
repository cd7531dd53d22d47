#include "collector/symbol/places.h"

#include <string.h>

void hk_places_clear(struct hk_places *places)
{
	places->count = places->used = 0;
}

/* Returns a copy of TEXT, or "" if it has no room. */
static const char *copy(struct hk_places *places, const char *text)
{
	size_t length = text ? strnlen(text, HK_PLACE_TEXT_BYTES) : 0;

	if (length == 0 || length == HK_PLACE_TEXT_BYTES ||
	    length + 1 > sizeof(places->texts) - places->used) {
		return "";
	}
	char *to = places->texts + places->used;
	memcpy(to, text, length);
	to[length] = '\0';
	places->used += length + 1;
	return to;
}

void hk_places_add(struct hk_places *places, const char *function, const char *file, uint32_t line)
{
	if (places->count < HK_PLACES_MOST) {
		places->place[places->count++] = (struct hk_place){
		    .function = copy(places, function),
		    .file = copy(places, file),
		    .line = line,
		};
	}
}

void hk_places_name_last(struct hk_places *places, const char *function)
{
	places->place[places->count - 1].function = copy(places, function);
}
