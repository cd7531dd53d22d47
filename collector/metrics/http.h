/* http.h: answers GET /metrics over HTTP, and /healthz.
 *
 * NNG carries the bytes, TLS too, as for server.h. Its own HTTP server would do the rest as well,
 * but bounds neither the number of connections nor the time that each may take. Here: connections
 * in all, of which the one that has waited longest for its own request goes for a new one; bytes of
 * a request; time for the request and for reading the answer; one request per connection. NNG's
 * threads receive and send; the collector's one thread makes the pages, each at most so often that
 * it takes a small part of its time, however many ask. Tokens and addresses: policy.h. Lifetime:
 * freed before the server.
 */
#ifndef HK_COLLECTOR_METRICS_HTTP_H
#define HK_COLLECTOR_METRICS_HTTP_H

#include <stdbool.h>

#include "wire/access.h"

struct hk_collector;
struct hk_http;

/* Listens where options.http says. A negative errno with PROBLEM in words. */
int hk_http_open(const struct hk_collector *collector, struct hk_http **ret_http,
		 char problem[HK_ACCESS_PROBLEM_BYTES]);
/* Closes and frees; accepts NULL, returns NULL. */
struct hk_http *hk_http_free(struct hk_http *http);

/* The rest accepts NULL: there is none. */

/* Readable when something is to be answered; -1: never. */
int hk_http_fd(const struct hk_http *http);

/* Answers what has been asked. */
void hk_http_run(struct hk_collector *collector, struct hk_http *http);

/* True while an answer is to be made, or a connection to be freed. */
bool hk_http_waits(struct hk_http *http);

/* Where it listens, with the port it got; "": nowhere. */
const char *hk_http_url(const struct hk_http *http);

#endif
