#include "collector/otlp/headers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_CHARACTERS                                                             \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^" \
	"_`|~"
#define LINE_BYTES_MAX 4096u

/* True if the collector sets the field of these SIZE bytes itself. */
static bool is_ours(const char *name, size_t size)
{
	static const char *const ours[] = {"Host",	   "Content-Length",
					   "Content-Type", "Content-Encoding",
					   "Connection",   "Transfer-Encoding"};
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (strlen(ours[i]) == size && strncasecmp(ours[i], name, size) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_printable(const char *text)
{
	for (; *text; text++) {
		if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f) {
			return false;
		}
	}
	return true;
}

static bool is_valid(const char *line)
{
	size_t name = strspn(line, NAME_CHARACTERS);
	return name > 0 && line[name] == ':' && !is_ours(line, name) &&
	       strlen(line) <= LINE_BYTES_MAX && is_printable(line);
}

static char *trim(char *line)
{
	line += strspn(line, " \t");
	size_t size = strlen(line);
	while (size > 0 && strchr(" \t\r", line[size - 1])) {
		line[--size] = '\0';
	}
	return line;
}

int hk_otlp_headers_read(const char *file, char **ret_text, char problem[HK_ACCESS_PROBLEM_BYTES])
{
	char *text, *rest, *line;
	unsigned number = 0;
	int r = hk_key_file_read(file, true, &text, problem);
	if (r < 0) {
		return r;
	}
	size_t room = 2 * strlen(text) + 3, size = 0; /* a line grows by its end */
	char *headers = calloc(1, room);
	r = headers ? 0 : hk_key_file_complain(problem, -ENOMEM, file, strerror(ENOMEM));
	rest = text;
	while (r == 0 && (line = strsep(&rest, "\n")) != NULL) {
		line = trim(line);
		number++;
		if (!*line || *line == '#') {
			continue;
		}
		if (!is_valid(line)) {
			/* The line may hold a token: it must not appear in a message. */
			snprintf(problem, HK_ACCESS_PROBLEM_BYTES,
				 "%s:%u: not 'NAME: VALUE' of a header that may be set", file,
				 number);
			r = -EINVAL;
		} else {
			size += (size_t)snprintf(headers + size, room - size, "%s\r\n", line);
		}
	}
	explicit_bzero(text, strlen(text));
	free(text);
	if (r < 0) {
		free(headers);
		return r;
	}
	*ret_text = headers;
	return 0;
}
