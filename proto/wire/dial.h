/* dial.h: connections of NNG to a collector, with TLS where the URL asks for it.
 *
 * Thread-safe, nothing is kept between calls.
 */
#ifndef HK_WIRE_DIAL_H
#define HK_WIRE_DIAL_H

#include <nng/nng.h>

#include "wire/access.h"

/* Makes an NNG configuration from ACCESS; the caller frees it. SERVER: for a listener, which asks
 * clients for certificates if authorities are given. URL: the URL to dial; NULL for a listener.
 * Returns 0, or a negative errno with the reason in PROBLEM. */
struct nng_tls_config;
int hk_dial_tls(const struct hk_access *access, const char *url, struct nng_tls_config **ret_tls,
		char problem[HK_ACCESS_PROBLEM_BYTES]);

/* Checks that ACCESS is usable for URL: its files exist and are valid. Results as of hk_dial, which
 * checks again each time. */
int hk_dial_check(const char *url, const struct hk_access *access,
		  char problem[HK_ACCESS_PROBLEM_BYTES]);

/* Dials URL on SOCKET as nng_dial does, with TLS if URL says so. TIMEOUT_MS: limit, with -ETIMEDOUT
 * after it; 0: dialling continues in the background; NNG_DURATION_INFINITE: NNG's own limit.
 * Returns 0, a negative errno of hk_nng_errno, or -EINVAL and the like with the reason in PROBLEM
 * ("" if the errno says it all). */
int hk_dial(nng_socket socket, const char *url, const struct hk_access *access, int timeout_ms,
	    char problem[HK_ACCESS_PROBLEM_BYTES]);

#endif
