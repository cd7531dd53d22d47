#include "collector/model/http_url.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define PATH_CHARACTERS DIGITS LETTERS "/-._~!$&'()*+,;=:@%"

/* Copies SIZE bytes to TEXT of ROOM. Returns false if they do not fit. */
static bool copy(char *text, size_t room, const char *from, size_t size)
{
	if (size >= room) {
		return false;
	}
	memcpy(text, from, size);
	text[size] = '\0';
	return true;
}

/* Parses the host at AT. Returns what follows it, or NULL. */
static const char *parse_host(const char *at, struct hk_http_url *url)
{
	size_t size;
	if (*at == '[') {
		size = 1 + strspn(at + 1, DIGITS "abcdefABCDEF:.");
		if (size < 3 || at[size] != ']') {
			return NULL;
		}
		size++;
		url->literal = true;
	} else {
		size = strspn(at, DIGITS LETTERS "-._");
		url->literal = strspn(at, DIGITS ".") == size;
	}
	return size > 0 && copy(url->host, sizeof(url->host), at, size) ? at + size : NULL;
}

/* Parses the port at AT, behind a colon, if there is one. */
static const char *parse_port(const char *at, struct hk_http_url *url)
{
	const char *standard = url->tls ? "443" : "80";
	if (*at != ':') {
		copy(url->port, sizeof(url->port), standard, strlen(standard));
		return at;
	}
	size_t size = strspn(++at, DIGITS);
	if (size == 0 || !copy(url->port, sizeof(url->port), at, size)) {
		return NULL;
	}
	unsigned long port = strtoul(url->port, NULL, 10);
	return port > 0 && port <= UINT16_MAX ? at + size : NULL;
}

int hk_http_url_parse(const char *text, struct hk_http_url *ret_url)
{
	struct hk_http_url url = {.tls = strncmp(text, "https://", 8) == 0};
	if (!url.tls && strncmp(text, "http://", 7) != 0) {
		return -EINVAL;
	}
	const char *at = parse_host(strstr(text, "://") + 3, &url);
	at = at ? parse_port(at, &url) : NULL;
	size_t size = at ? strlen(at) : 0;
	if (!at || (*at && *at != '/') || strspn(at, PATH_CHARACTERS) != size) {
		return -EINVAL;
	}
	while (size > 0 && at[size - 1] == '/') {
		size--;
	}
	if (!copy(url.path, sizeof(url.path), at, size)) {
		return -EINVAL;
	}
	*ret_url = url;
	return 0;
}
