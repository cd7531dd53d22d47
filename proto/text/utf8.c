#include "text/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define REPLACEMENT_BYTES 3u

static bool in_range(uint8_t byte, uint8_t low, uint8_t high)
{
	return byte >= low && byte <= high;
}

/* The table of well-formed sequences of RFC 3629: the second byte's range depends on the first. */
size_t hk_utf8_length(const char *text)
{
	const uint8_t *byte = (const uint8_t *)text;
	uint8_t low = 0x80, high = 0xbf;
	size_t length, i;

	if (byte[0] < 0x80) {
		return byte[0] ? 1 : 0;
	}
	if (in_range(byte[0], 0xc2, 0xdf)) {
		length = 2;
	} else if (in_range(byte[0], 0xe0, 0xef)) {
		length = 3;
		low = byte[0] == 0xe0 ? 0xa0 : low;
		high = byte[0] == 0xed ? 0x9f : high;
	} else if (in_range(byte[0], 0xf0, 0xf4)) {
		length = 4;
		low = byte[0] == 0xf0 ? 0x90 : low;
		high = byte[0] == 0xf4 ? 0x8f : high;
	} else {
		return 0;
	}
	if (!in_range(byte[1], low, high)) {
		return 0;
	}
	for (i = 2; i < length; i++) {
		if (!in_range(byte[i], 0x80, 0xbf)) {
			return 0;
		}
	}
	return length;
}

size_t hk_utf8_copy(const char *text, char *buffer, size_t size)
{
	size_t used = 0;

	while (*text) {
		size_t length = hk_utf8_length(text);
		const char *from = length ? text : REPLACEMENT;
		size_t bytes = length ? length : REPLACEMENT_BYTES;

		if (bytes >= size - used) {
			break;
		}
		memcpy(buffer + used, from, bytes);
		used += bytes;
		text += length ? length : 1;
	}
	buffer[used] = '\0';
	return used;
}
