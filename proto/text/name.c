#include "text/name.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/demangle.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length of the well-formed UTF-8 character at `at` (RFC 3629, no surrogates), 0 if it is none. */
static size_t character(const unsigned char *at, uint32_t *ret_code)
{
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
	uint32_t code = *at;

	if (length == 0 || *at > 0xf4) {
		return 0;
	}
	if (length > 1) {
		code = *at & (0x7fu >> length);
	}
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80) {
			return 0;
		}
		code = code << 6 | (at[i] & 0x3fu);
	}
	if (code < lowest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
		return 0;
	}
	*ret_code = code;
	return length;
}

/* Whether CODE is no control code, invisible mark, or mark that turns the direction of text. */
static bool printable(uint32_t code)
{
	return code >= 0x20 && !(code >= 0x7f && code <= 0x9f) &&
	       !(code >= 0x200b && code <= 0x200f) && !(code >= 0x2028 && code <= 0x202e) &&
	       !(code >= 0x2066 && code <= 0x2069) && code != 0xfeff;
}

size_t hk_name_print(char *text, size_t columns, const char *name)
{
	const unsigned char *at = (const unsigned char *)name;
	size_t shown = 0, used = 0, last = 0;

	while (*at && shown < columns) {
		uint32_t code = 0;
		size_t length = character(at, &code);
		last = used;
		if (length == 0 || !printable(code)) {
			text[used++] = '?';
			at += length ? length : 1;
		} else {
			memcpy(text + used, at, length);
			used += length;
			at += length;
		}
		shown++;
	}
	if (*at && shown > 0) {
		text[last] = '~';
		used = last + 1;
	}
	text[used] = '\0';
	return shown;
}

size_t hk_name_print_function(char *text, size_t columns, const char *name)
{
	char shown[HK_DEMANGLE_NAME_BYTES];

	hk_demangle_short(name, shown, sizeof(shown));
	return hk_name_print(text, columns, shown);
}

size_t hk_name_print_end(char *text, size_t columns, const char *name)
{
	size_t length = strlen(name);
	const char *start = name + length;

	if (length <= columns) {
		return hk_name_print(text, columns, name);
	}
	/* Bytes are at least as many as characters: whole characters of the last COLUMNS - 1 bytes.
	 */
	start -= columns > 0 ? columns - 1 : 0;
	while ((*start & 0xc0) == 0x80) {
		start++;
	}
	if (columns == 0) {
		text[0] = '\0';
		return 0;
	}
	text[0] = '~';
	return 1 + hk_name_print(text + 1, columns - 1, start);
}

const char *hk_name_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

char *hk_name_utf8(const char *name)
{
	const unsigned char *at = (const unsigned char *)name;
	char *text = malloc(strlen(name) * (sizeof(REPLACEMENT) - 1) + 1);
	size_t used = 0;

	if (!text) {
		return NULL;
	}
	while (*at) {
		uint32_t code;
		size_t length = character(at, &code);
		memcpy(text + used, length ? (const char *)at : REPLACEMENT,
		       length ? length : sizeof(REPLACEMENT) - 1);
		used += length ? length : sizeof(REPLACEMENT) - 1;
		at += length ? length : 1;
	}
	text[used] = '\0';
	return text;
}
