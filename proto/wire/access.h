/* access.h: tokens and certificates, by which programs authenticate to each other over TCP. A token
 * file has lines "read TOKEN [USER]" and "control TOKEN [USER]"; comments begin with #. A
 * certificate that `hookcollector keygen` made bears the name HK_ACCESS_NAME at any address. Texts
 * are borrowed unless stated otherwise. Thread-safe, no state. */
#ifndef HK_WIRE_ACCESS_H
#define HK_WIRE_ACCESS_H

#include <stddef.h>
#include <stdint.h>

#include "wire/key_file.h"

#define HK_ACCESS_NAME "hooktrace"
#define HK_ACCESS_TOKEN_MIN 16u
#define HK_ACCESS_TOKEN_MAX 255u /* bytes, without the NUL */
#define HK_ACCESS_USER_MAX                                                                       \
	32u /* bytes, without the NUL; below the length of a token of keygen, so that a token is \
	       never taken for a user */

/* What a client may do; each right includes those before it. */
enum hk_right {
	HK_RIGHT_NONE = 0,
	HK_RIGHT_READ = 1,
	HK_RIGHT_CONTROL = 2, /* change levels; send a leaf's data */
};

enum hk_transport {
	HK_TRANSPORT_UNKNOWN = 0, /* not a supported URL */
	HK_TRANSPORT_LOCAL,	  /* ipc:// */
	HK_TRANSPORT_TCP,
	HK_TRANSPORT_TLS, /* tls+tcp:// */
};

/* Properties of a URL. LOOPBACK: its host is this machine, unreachable from others. Decided by its
 * text; only "localhost" is known as a name. */
struct hk_access_url {
	enum hk_transport transport;
	int loopback;
};
struct hk_access_url hk_access_url(const char *url);

/* Credentials that a client sends, and authorities it trusts. NULL: not given. */
struct hk_access {
	const char *token_file;
	const char *authorities; /* PEM file: authorities that sign collectors' certificates */
	const char *certificate; /* PEM files: the client's own, if the collector asks for one */
	const char *key;
};

/* Calls TAKE for every token of FILE, with USER "" for a token without a user. Refuses a file that
 * others may read, or that is malformed. Returns 0, the result of TAKE if that is not 0, or a
 * negative errno with the reason in PROBLEM. */
typedef int (*hk_access_take)(void *context, enum hk_right right, const char *token,
			      const char *user);
int hk_access_tokens(const char *file, hk_access_take take, void *context,
		     char problem[HK_ACCESS_PROBLEM_BYTES]);

/* The token of FILE with the highest right. Results as of hk_access_tokens. */
int hk_access_token(const char *file, char token[HK_ACCESS_TOKEN_MAX + 1],
		    char problem[HK_ACCESS_PROBLEM_BYTES]);

#endif
