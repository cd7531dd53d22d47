#include "collector/model/fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int hk_field_set_string(char **string, const char *text)
{
	if (*string && strcmp(*string, text) == 0) {
		return 0;
	}
	char *copy = strdup(text);
	if (!copy) {
		return -ENOMEM;
	}
	if (*string != protobuf_c_empty_string) {
		free(*string);
	}
	*string = copy;
	return 0;
}

int hk_field_set_anchor(Hk__Anchor **anchor, uint64_t ticks, uint64_t monotonic_ns,
			uint64_t realtime_ns)
{
	if (!*anchor) {
		*anchor = malloc(sizeof(**anchor));
		if (!*anchor) {
			return -ENOMEM;
		}
		hk__anchor__init(*anchor);
	}
	(*anchor)->ticks = ticks;
	(*anchor)->monotonic_ns = monotonic_ns;
	(*anchor)->realtime_ns = realtime_ns;
	return 0;
}
