#include "wire/access.h"

#include <errno.h>
#include <fcntl.h>
#include <nng/nng.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/key_file.h"

/* ---- URLs ---- */

static enum hk_transport transport_of(const char *scheme)
{
	static const struct {
		const char *scheme;
		enum hk_transport transport;
	} known[] = {
	    {"ipc", HK_TRANSPORT_LOCAL},    {"tcp", HK_TRANSPORT_TCP},
	    {"tcp4", HK_TRANSPORT_TCP},	    {"tcp6", HK_TRANSPORT_TCP},
	    {"tls+tcp", HK_TRANSPORT_TLS},  {"tls+tcp4", HK_TRANSPORT_TLS},
	    {"tls+tcp6", HK_TRANSPORT_TLS},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].scheme, scheme) == 0) {
			return known[i].transport;
		}
	}
	return HK_TRANSPORT_UNKNOWN;
}

static bool is_loopback(const char *host)
{
	unsigned a, b, c, d;
	char rest;
	return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
	       (sscanf(host, "%3u.%3u.%3u.%3u%c", &a, &b, &c, &d, &rest) == 4 && a == 127 &&
		(b | c | d) < 256);
}

struct hk_access_url hk_access_url(const char *url)
{
	struct hk_access_url said = {HK_TRANSPORT_UNKNOWN, 0};
	nng_url *parsed;
	if (nng_url_parse(&parsed, url) != 0) {
		return said;
	}
	said.transport = transport_of(parsed->u_scheme);
	said.loopback = said.transport == HK_TRANSPORT_LOCAL ||
			(parsed->u_hostname && is_loopback(parsed->u_hostname));
	nng_url_free(parsed);
	return said;
}

/* ---- tokens ---- */

/* Parses one line, which is changed. Returns 1 and its token, 0 for an empty line or a comment, or
 * -EINVAL. */
static int parse_line(char *line, enum hk_right *ret_right, const char **ret_token,
		      const char **ret_user)
{
	char *at;
	const char *word = strtok_r(line, " \t\r", &at);
	*ret_right = HK_RIGHT_NONE;
	if (!word || *word == '#') {
		return 0;
	}
	*ret_right = strcmp(word, "read") == 0	    ? HK_RIGHT_READ
		     : strcmp(word, "control") == 0 ? HK_RIGHT_CONTROL
						    : HK_RIGHT_NONE;
	*ret_token = strtok_r(NULL, " \t\r", &at);
	const char *user = *ret_token ? strtok_r(NULL, " \t\r", &at) : NULL;
	*ret_user = user ? user : "";
	bool right =
	    *ret_right != HK_RIGHT_NONE && *ret_token && !(user && strtok_r(NULL, " \t\r", &at)) &&
	    strlen(*ret_user) <= HK_ACCESS_USER_MAX && strlen(*ret_token) >= HK_ACCESS_TOKEN_MIN &&
	    strlen(*ret_token) <= HK_ACCESS_TOKEN_MAX;
	return right ? 1 : -EINVAL;
}

int hk_access_tokens(const char *file, hk_access_take take, void *context,
		     char problem[HK_ACCESS_PROBLEM_BYTES])
{
	char *text, *rest, *line;
	unsigned number = 0, found = 0;
	int r = hk_key_file_read(file, true, &text, problem);
	if (r < 0) {
		return r;
	}
	rest = text;
	while (r == 0 && (line = strsep(&rest, "\n")) != NULL) {
		enum hk_right right;
		const char *token, *user;
		number++;
		r = parse_line(line, &right, &token, &user);
		if (r < 0) {
			/* The line may hold a token: it must not appear in a message. */
			snprintf(problem, HK_ACCESS_PROBLEM_BYTES,
				 "%s:%u: not 'read TOKEN [USER]' or 'control TOKEN [USER]' with "
				 "a token of %u to %u characters",
				 file, number, HK_ACCESS_TOKEN_MIN, HK_ACCESS_TOKEN_MAX);
		} else if (r > 0) {
			found++;
			r = take(context, right, token, user);
		}
	}
	explicit_bzero(text, strlen(text));
	free(text);
	return r == 0 && found == 0 ? hk_key_file_complain(problem, -EINVAL, file, "no token in it")
				    : r;
}

struct best {
	enum hk_right right;
	char *token;
};

static int keep_best(void *context, enum hk_right right, const char *token, const char *user)
{
	struct best *best = context;
	(void)user; /* only the collector uses it */
	if (right > best->right) {
		best->right = right;
		snprintf(best->token, HK_ACCESS_TOKEN_MAX + 1, "%s", token);
	}
	return 0;
}

int hk_access_token(const char *file, char token[HK_ACCESS_TOKEN_MAX + 1],
		    char problem[HK_ACCESS_PROBLEM_BYTES])
{
	struct best best = {HK_RIGHT_NONE, token};
	*token = '\0';
	return hk_access_tokens(file, keep_best, &best, problem);
}
