/* dial.h: connections of NNG to a collector, with TLS where the URL asks for it.
 *
 * Thread-safe, nothing is kept between calls.
 */
#ifndef HK_WIRE_DIAL_H
#define HK_WIRE_DIAL_H

#include <nng/nng.h>

#include "wire/access.h"

/* What ACCESS trusts and shows, as a configuration for NNG, the caller's to free; SERVER: of a
 * listener, who asks for certificates of others if there are authorities. Negative errno with
 * PROBLEM in words. URL: what will be dialled; NULL for a listener. */
struct nng_tls_config;
int hk_dial_tls(const struct hk_access *access, const char *url, struct nng_tls_config **ret_tls,
		char problem[HK_ACCESS_PROBLEM_BYTES]);

/* Whether ACCESS can do for URL: its files are there and make sense. As hk_dial, which looks
 * again each time. */
int hk_dial_check(const char *url, const struct hk_access *access,
		  char problem[HK_ACCESS_PROBLEM_BYTES]);

/* Dials URL on SOCKET as nng_dial does, with TLS where URL says so. TIMEOUT_MS: how long it may
 * take, -ETIMEDOUT after that; 0: it goes on when this has returned; NNG_DURATION_INFINITE: as long
 * as NNG waits. 0, a negative errno of hk_nng_errno, or -EINVAL and the like with PROBLEM in
 * words ("" where there is no more to say than the errno does). */
int hk_dial(nng_socket socket, const char *url, const struct hk_access *access, int timeout_ms,
	    char problem[HK_ACCESS_PROBLEM_BYTES]);

#endif
