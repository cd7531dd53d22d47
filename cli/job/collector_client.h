/* collector_client.h: sends one request to a collector at any URL, with the token and the
 * certificates of the settings. Used from the main thread only. */
#ifndef HK_CLI_JOB_COLLECTOR_CLIENT_H
#define HK_CLI_JOB_COLLECTOR_CLIENT_H

#include "wire/request.h"

#define HK_CLIENT_START_HINT "start one with: hookcollector, or trace with: hookcli run -- CMD"

/* As hk_request_call, but URL may be NULL: -ECONNREFUSED. Sets the request's version. Also returns
 * -EACCES if the settings' credentials are unusable or the collector refuses them. */
int hk_client_call(const char *url, Hk__Request *request, int timeout_ms,
		   Hk__Response **ret_response);

/* Prints one line to stderr with the reason why hk_client_call of URL failed with ERROR, and a
 * hint; returns the exit code. Call it before the next hk_client_call. */
int hk_client_failed(const char *url, int error);

/* The reason as a predicate of the collector: "does not answer". Valid until the next call. */
const char *hk_client_reason(int error);

#define HK_CLIENT_TIMEOUT_MS 10000

/* Sends REQUEST to the collector at URL. Returns HK_EXIT_DONE, or another exit code after a line on
 * stderr. The caller frees the response with hk__response__free_unpacked. */
int hk_client_request(const char *url, Hk__Request *request, Hk__Response **ret_response);

#endif
