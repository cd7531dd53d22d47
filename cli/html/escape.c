#include "cli/html/escape.h"

#include <string.h>

static ssize_t escape_write(void *cookie, const char *bytes, size_t size)
{
	FILE *output = cookie;
	const char *at = bytes, *end = bytes + size;

	while (at < end) {
		const char *mark = memchr(at, '<', (size_t)(end - at));
		size_t plain = (size_t)((mark ? mark : end) - at);
		if (fwrite(at, 1, plain, output) != plain ||
		    (mark && fputs("\\u003c", output) == EOF)) {
			return 0;
		}
		at += plain + (mark != NULL);
	}
	return (ssize_t)size;
}

FILE *hk_html_escape_open(FILE *output)
{
	return fopencookie(output, "w", (cookie_io_functions_t){.write = escape_write});
}
