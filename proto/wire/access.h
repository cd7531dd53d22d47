/* access.h: how one program proves to another, over TCP, what it may do: tokens and certificates.
 *
 * A token file has lines "read TOKEN [USER]" and "control TOKEN [USER]", comments begin with #. A
 * certificate that `hookcollector keygen` made bears the name HK_ACCESS_NAME, whatever address it
 * is used at. Texts borrowed unless said; thread-safe, nothing is kept between calls.
 */
#ifndef HK_WIRE_ACCESS_H
#define HK_WIRE_ACCESS_H

#include <stddef.h>
#include <stdint.h>

#include "wire/key_file.h"

#define HK_ACCESS_NAME "hooktrace"
#define HK_ACCESS_TOKEN_MIN 16u
#define HK_ACCESS_TOKEN_MAX 255u /* bytes, without the NUL */
#define HK_ACCESS_USER_MAX 32u	 /* likewise; a token of keygen is longer, so it is no user */

/* What somebody may do; each includes those before. */
enum hk_right {
	HK_RIGHT_NONE = 0,
	HK_RIGHT_READ = 1,
	HK_RIGHT_CONTROL = 2, /* change levels; send what a leaf sends */
};

enum hk_transport {
	HK_TRANSPORT_UNKNOWN = 0, /* no URL we know */
	HK_TRANSPORT_LOCAL,	  /* ipc:// */
	HK_TRANSPORT_TCP,
	HK_TRANSPORT_TLS, /* tls+tcp:// */
};

/* What a URL says of itself. LOOPBACK: its host is this machine and nobody else can reach it; by
 * its letters, no name is looked up but "localhost". */
struct hk_access_url {
	enum hk_transport transport;
	int loopback;
};
struct hk_access_url hk_access_url(const char *url);

/* What a client shows and whom it trusts. NULL: not given. */
struct hk_access {
	const char *token_file;
	const char *authorities; /* PEM file: who signs the certificates of collectors */
	const char *certificate; /* PEM files: one's own, where the collector asks for one */
	const char *key;
};

/* Calls TAKE for every token of FILE, USER "" where none is named. 0; what TAKE returned, if that
 * was not 0; or a negative errno with PROBLEM in words: a file that others may read, or that makes
 * no sense, is refused. */
typedef int (*hk_access_take)(void *context, enum hk_right right, const char *token,
			      const char *user);
int hk_access_tokens(const char *file, hk_access_take take, void *context,
		     char problem[HK_ACCESS_PROBLEM_BYTES]);

/* The token of FILE that gives most. As hk_access_tokens. */
int hk_access_token(const char *file, char token[HK_ACCESS_TOKEN_MAX + 1],
		    char problem[HK_ACCESS_PROBLEM_BYTES]);

#endif
