/* handler.h: the functions that a server needs to answer requests. Types only. */
#ifndef HK_COLLECTOR_SERVER_HANDLER_H
#define HK_COLLECTOR_SERVER_HANDLER_H

#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"
#include "wire/access.h"

struct hk_account;
struct hk_quota;

/* The server's facts of a request, and the handler's state while an answer is put off: `until_ns`
 * is 0 when the request arrives. */
struct hk_request_wait {
	const char *user;	    /* the client sees only this user's jobs; NULL or "": all */
	struct hk_quota *quota;	    /* limits of all accounts */
	struct hk_account *account; /* of these, that pays for the request */
	uint64_t received_ns;	    /* monotonic: when the request began to come in */
	uint64_t until_ns;	    /* monotonic; 0: not waiting */
};

/* Returns the right that a request of kind WHAT needs. Any thread. */
typedef enum hk_right (*hk_request_right)(Hk__Request__WhatCase what);

/* Answers REQUEST on the collector's thread. Returns 1 with the packed Hk__Response in *RET_BYTES,
 * which the caller frees, or 0 if the caller must call again on the next pass. REQUEST is NULL for
 * bytes that are no request. The handler may take parts out of it. */
typedef int (*hk_request_handler)(void *context, Hk__Request *request, struct hk_request_wait *wait,
				  uint8_t **ret_bytes, size_t *ret_size);

#endif
