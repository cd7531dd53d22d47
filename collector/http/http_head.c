#include "collector/http/http_head.h"

#include <errno.h>
#include <mbedtls/base64.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define PASSWORD_BYTES 1024u /* and the user's name */

/* Returns the end of the head, after its empty line, or NULL if it is incomplete. Lines may end
 * without a CR. */
static char *end_of(char *text, size_t size)
{
	char *end = text + size;
	for (char *at = text; (at = memchr(at, '\n', (size_t)(end - at))) != NULL;) {
		at++;
		if (end - at >= 1 && at[0] == '\n') {
			return at + 1;
		}
		if (end - at >= 2 && at[0] == '\r' && at[1] == '\n') {
			return at + 2;
		}
	}
	return NULL;
}

/* Ends the line at *AT with a NUL and advances *AT to the next line. */
static char *take_line(char **at)
{
	char *line = *at, *newline = strchr(line, '\n');
	*at = newline + 1;
	if (newline > line && newline[-1] == '\r') {
		newline--;
	}
	*newline = '\0';
	return line;
}

/* Parses METHOD SP TARGET SP HTTP/1.x. Returns 0 or -EBADMSG. */
static int parse_request(char *line, struct hk_http_head *head)
{
	char *target = strchr(line, ' ');
	char *version = target ? strchr(target + 1, ' ') : NULL;
	if (!version || target == line || target[1] != '/' ||
	    strncmp(version + 1, "HTTP/1.", strlen("HTTP/1.")) != 0) {
		return -EBADMSG;
	}
	*target++ = '\0';
	*version = '\0';
	target[strcspn(target, "?")] = '\0';
	head->method = line;
	head->path = target;
	return 0;
}

static char *trim(char *text)
{
	text += strspn(text, " \t");
	size_t size = strlen(text);
	while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\t')) {
		text[--size] = '\0';
	}
	return text;
}

/* Returns what follows SCHEME in VALUE, or NULL if VALUE has another scheme. */
static char *scheme_value(char *value, const char *scheme)
{
	size_t size = strlen(scheme);

	return strncasecmp(value, scheme, size) == 0 && value[size] == ' ' ? trim(value + size)
									   : NULL;
}

/* Puts the password of VALUE, the base64 of USER:PASSWORD, in its place. Returns NULL if there is
 * none. */
static char *basic_password(char *value)
{
	unsigned char text[PASSWORD_BYTES];
	size_t size = 0;

	if (mbedtls_base64_decode(text, sizeof(text), &size, (unsigned char *)value,
				  strlen(value)) != 0) {
		return NULL;
	}
	const unsigned char *colon = memchr(text, ':', size);
	size_t length = colon ? size - (size_t)(colon + 1 - text) : 0;
	if (length == 0 || memchr(colon, '\0', length + 1)) {
		return NULL;
	}
	memcpy(value, colon + 1, length); /* base64 is longer than what it stands for */
	value[length] = '\0';
	return value;
}

static char *token_of(char *value)
{
	char *bearer = scheme_value(value, "Bearer");
	char *basic = bearer ? NULL : scheme_value(value, "Basic");

	return basic ? basic_password(basic) : bearer;
}

static int parse_field(char *line, struct hk_http_head *head)
{
	char *colon = strchr(line, ':');
	/* A line that begins with a blank would continue the previous line, a form that no client
	 * sends today. */
	if (!colon || colon == line || *line == ' ' || *line == '\t') {
		return -EBADMSG;
	}
	*colon = '\0';
	char *value = trim(colon + 1);
	if (strcasecmp(line, "Accept") == 0 && !head->accept) {
		head->accept = value;
	} else if (strcasecmp(line, "Host") == 0 && !head->host) {
		head->host = value;
	} else if (strcasecmp(line, "Authorization") == 0 && !head->bearer) {
		head->bearer = token_of(value);
	}
	return 0;
}

int hk_http_head_parse(char *text, size_t size, struct hk_http_head *ret_head)
{
	struct hk_http_head head = {0};
	char *end = end_of(text, size), *at = text;
	if (memchr(text, '\0', end ? (size_t)(end - text) : size)) {
		return -EBADMSG;
	}
	if (!end) {
		return 0;
	}
	int r = parse_request(take_line(&at), &head);
	while (r == 0) {
		char *line = take_line(&at);
		if (!*line) {
			*ret_head = head;
			return 1;
		}
		r = parse_field(line, &head);
	}
	return r;
}
