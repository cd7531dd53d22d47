/* request.h: one question and one answer between cli and collector, over NNG request/reply.
 *
 * The collector listens on ipc://<run directory>/collector.sock, and over TCP where it is told to
 * (access.h). Messages are Hk__Request and
 * Hk__Response, each at most HK_MESSAGE_BYTES_MAX. Each step of a call (to connect, to ask, to be
 * answered) blocks up to its timeout; thread-safe, nothing is kept between calls.
 */
#ifndef HK_WIRE_REQUEST_H
#define HK_WIRE_REQUEST_H

#include <stddef.h>

#include "wire/access.h"
#include "wire/message.h"

#define HK_REQUEST_URL_BYTES 128

/* URL of the collector that serves the run directory at PATH. 0 or -ENAMETOOLONG: a socket's path
 * has at most 107 bytes. */
int hk_request_url(const char *path, char url[HK_REQUEST_URL_BYTES]);

/* Sends REQUEST to the collector at URL and waits for its answer, each TIMEOUT_MS at most; the
 * caller frees it with hk__response__free_unpacked. A negative `error` inside the answer is the
 * collector's and not returned here. -ECONNREFUSED: no collector there; -ETIMEDOUT; -EBADMSG: the
 * answer makes no sense; -EHOSTUNREACH: no way there; -EINVAL: not a URL; -EPIPE: who is there
 * hangs up; -EPROTO: no collector, or one that wants TLS; -EKEYREJECTED: a certificate that is not
 * trusted, or no TLS there; -ENOMEM.
 */
int hk_request_call(const char *url, const Hk__Request *request, int timeout_ms,
		    Hk__Response **ret_response);

/* As hk_request_call; over TCP it shows and trusts what ACCESS (NULL: nothing) says. PROBLEM: what
 * is wrong with ACCESS, "" where the errno says it all. */
int hk_request_call_as(const char *url, const struct hk_access *access, const Hk__Request *request,
		       int timeout_ms, Hk__Response **ret_response,
		       char problem[HK_ACCESS_PROBLEM_BYTES]);

#endif
