/* http_url.h: an address of HTTP, in parts. Pure function. */
#ifndef HK_COLLECTOR_MODEL_HTTP_URL_H
#define HK_COLLECTOR_MODEL_HTTP_URL_H

#include <stdbool.h>

#define HK_HTTP_URL_HOST_BYTES 256u
#define HK_HTTP_URL_PATH_BYTES 512u

struct hk_http_url {
	bool tls;			   /* https */
	bool literal;			   /* the host is an address, not a name */
	char host[HK_HTTP_URL_HOST_BYTES]; /* that of IPv6 with its brackets */
	char port[6];
	char path[HK_HTTP_URL_PATH_BYTES]; /* "" or from a slash on, without one at its end */
};

/* Parses http[s]://HOST[:PORT][/PATH]. Accounts, queries and fragments are refused. Returns 0 or
 * -EINVAL. */
int hk_http_url_parse(const char *text, struct hk_http_url *ret_url);

#endif
