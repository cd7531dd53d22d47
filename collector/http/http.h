/* http.h: answers GET /metrics over HTTP, /healthz, and live pages of jobs.
 *
 * NNG carries the bytes, with TLS too, as for server.h. NNG's own HTTP server limits neither the
 * number of connections nor the time of each. Here there are limits of connections, of the bytes of
 * a request, and of the time for a request and for reading the answer. For a new connection beyond
 * the limit, the one that has waited longest for its client's request is closed. A connection has
 * one request. NNG's threads receive and send. The collector's one thread makes the pages, and
 * page_cache.h bounds the time for that.
 * A process of its own makes live pages (live.h). Tokens and addresses: policy.h. Lifetime: freed
 * before the server.
 */
#ifndef HK_COLLECTOR_HTTP_HTTP_H
#define HK_COLLECTOR_HTTP_HTTP_H

#include <stdbool.h>

#include "wire/access.h"

struct hk_collector;
struct hk_http;

/* Listens on the address of options.http. Returns 0, or -errno with the reason in PROBLEM. */
int hk_http_open(const struct hk_collector *collector, struct hk_http **ret_http,
		 char problem[HK_ACCESS_PROBLEM_BYTES]);
/* Listens on loopback, at a port that is free, for clients with a token that is made now. Returns
 * as above. */
int hk_http_open_own(const struct hk_collector *collector, struct hk_http **ret_http,
		     char problem[HK_ACCESS_PROBLEM_BYTES]);

/* Closes and frees; accepts NULL, returns NULL. */
struct hk_http *hk_http_free(struct hk_http *http);

/* The rest accepts NULL: there is none. */

/* Readable when something is to be answered; -1: never. */
int hk_http_fd(const struct hk_http *http);

/* Readable when a live page has been made; -1: never. */
int hk_http_live_fd(const struct hk_http *http);

/* Answers what has been asked. */
void hk_http_run(struct hk_collector *collector, struct hk_http *http);

/* Returns whether an answer must be made or a connection must be freed. */
bool hk_http_waits(struct hk_http *http);

/* Where it listens, without a path, and the token of hk_http_open_own, "": none. */
const char *hk_http_site(const struct hk_http *http);
const char *hk_http_own_token(const struct hk_http *http);

/* Where /metrics are, with the port it got; "": nowhere. */
const char *hk_http_url(const struct hk_http *http);

#endif
