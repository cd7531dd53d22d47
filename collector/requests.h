/* requests.h: what the collector says to each request of wire.proto. One thread; no state but the
 * caller's wait. */
#ifndef HK_COLLECTOR_REQUESTS_H
#define HK_COLLECTOR_REQUESTS_H

#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_collector;

struct hk_account;
struct hk_quota;

/* What is known of a request, and remembered if its answer is put off; the rest is zero when it
 * comes. */
struct hk_answer_wait {
	const char *user;	    /* who asks sees this user's jobs only; NULL or "": all */
	struct hk_quota *quota;	    /* limits of all accounts */
	struct hk_account *account; /* of these, that pays for the request */
	uint64_t received_ns;	    /* monotonic: when the request began to come in */
	uint64_t until_ns;	    /* monotonic; 0: not waiting */
};

/* 1: *RET_BYTES holds the packed Hk__Response, the caller frees it. 0: not yet, ask again on the
 * next pass. REQUEST may be NULL: what came was no request; parts of it may be taken. */
int hk_answer_make(struct hk_collector *collector, Hk__Request *request,
		   struct hk_answer_wait *wait, uint8_t **ret_bytes, size_t *ret_size);

#endif
