/* handler.h: who answers the requests that a server takes in. Types only.
 */
#ifndef HK_COLLECTOR_SERVER_HANDLER_H
#define HK_COLLECTOR_SERVER_HANDLER_H

#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_account;
struct hk_quota;

/* What is known of a request, and remembered if its answer is put off; the rest is zero when it
 * comes. */
struct hk_request_wait {
	const char *user;	    /* who asks sees this user's jobs only; NULL or "": all */
	struct hk_quota *quota;	    /* limits of all accounts */
	struct hk_account *account; /* of these, that pays for the request */
	uint64_t received_ns;	    /* monotonic: when the request began to come in */
	uint64_t until_ns;	    /* monotonic; 0: not waiting */
};

/* Answers REQUEST on the collector's thread. 1: *RET_BYTES holds the packed Hk__Response, the
 * caller frees it. 0: not yet, ask again on the next pass. REQUEST may be NULL: what came was no
 * request; parts of it may be taken. */
typedef int (*hk_request_handler)(void *context, Hk__Request *request, struct hk_request_wait *wait,
				  uint8_t **ret_bytes, size_t *ret_size);

#endif
