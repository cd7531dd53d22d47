#include "text/csv_text.h"

#include <stdbool.h>
#include <string.h>

#include "text/utf8.h"

/* Bytes that control a terminal: C0 but the newline, DEL, and C1 as UTF-8. */
static bool is_control(const unsigned char *at, size_t length)
{
	return length == 1 ? (*at < 0x20 && *at != '\n') || *at == 0x7f
			   : length == 2 && at[0] == 0xc2 && at[1] < 0xa0;
}

void hk_csv_text(FILE *output, const char *text)
{
	putc_unlocked('"', output);
	if (*text && strchr("=+-@", *text)) {
		putc_unlocked('\'', output);
	}
	while (*text) {
		size_t length = hk_utf8_length(text);

		if (length == 0 || is_control((const unsigned char *)text, length)) {
			fputs("\xef\xbf\xbd", output);
			length = length ? length : 1;
		} else {
			if (*text == '"') {
				putc_unlocked('"', output);
			}
			fwrite_unlocked(text, 1, length, output);
		}
		text += length;
	}
	putc_unlocked('"', output);
}
