/* request.h: one request of the cli to a collector, and its response, over NNG request/reply. The
 * collector listens on ipc://<run directory>/collector.sock, and over TCP if configured (access.h).
 * Messages are Hk__Request and Hk__Response, each at most HK_MESSAGE_BYTES_MAX. Each step of a call
 * (connect, send, receive) blocks up to its timeout. Thread-safe, no state. */
#ifndef HK_WIRE_REQUEST_H
#define HK_WIRE_REQUEST_H

#include <stddef.h>

#include "wire/access.h"
#include "wire/message.h"

#define HK_REQUEST_URL_BYTES 128

/* URL of the collector that serves the run directory at PATH. Returns 0, or -ENAMETOOLONG: a
 * socket's path has at most 107 bytes. */
int hk_request_url(const char *path, char url[HK_REQUEST_URL_BYTES]);

/* Sends REQUEST to the collector at URL and waits for its response, TIMEOUT_MS at most for each
 * step; the caller frees it with hk__response__free_unpacked. A negative `error` inside the
 * response is the collector's and not returned here. Returns 0; -ECONNREFUSED: no collector there;
 * -ETIMEDOUT; -EBADMSG: invalid response; -EHOSTUNREACH: no route; -EINVAL: not a URL; -EPIPE: the
 * peer hangs up; -EPROTO: not a collector, or one that needs TLS; -EKEYREJECTED: a certificate that
 * is not trusted, or no TLS there; -ENOMEM. */
int hk_request_call(const char *url, const Hk__Request *request, int timeout_ms,
		    Hk__Response **ret_response);

/* As hk_request_call; over TCP it authenticates by ACCESS (NULL: without credentials). PROBLEM: the
 * error in ACCESS, "" if the errno says it all. */
int hk_request_call_as(const char *url, const struct hk_access *access, const Hk__Request *request,
		       int timeout_ms, Hk__Response **ret_response,
		       char problem[HK_ACCESS_PROBLEM_BYTES]);

#endif
