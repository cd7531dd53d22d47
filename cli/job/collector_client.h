/* collector_client.h: one question to a collector, wherever it is: with the token and the
 * certificates that the settings name. Used from the main thread only. */
#ifndef HK_CLI_JOB_COLLECTOR_CLIENT_H
#define HK_CLI_JOB_COLLECTOR_CLIENT_H

#include "wire/request.h"

#define HK_CLIENT_START_HINT "start one with: hookcollector, or trace with: hookcli run -- CMD"

/* As hk_request_call, but URL may be NULL: -ECONNREFUSED. The request's version is set. -EACCES:
 * the settings do not let us ask, or the collector does not. */
int hk_client_call(const char *url, Hk__Request *request, int timeout_ms,
		   Hk__Response **ret_response);

/* Says on stderr, in one line with what to do, why hk_client_call of URL failed with ERROR; the
 * exit code. To be called before the next hk_client_call. */
int hk_client_failed(const char *url, int error);

/* The same as what is said of the collector: "does not answer". Lasts until it is called again. */
const char *hk_client_reason(int error);

#define HK_CLIENT_TIMEOUT_MS 10000

/* Sends REQUEST to the collector at URL. Returns HK_EXIT_DONE, or another exit code after a line on
 * stderr. The caller frees the response with hk__response__free_unpacked. */
int hk_client_ask(const char *url, Hk__Request *request, Hk__Response **ret_response);

#endif
