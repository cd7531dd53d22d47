/* requests.h: answers each request of wire.proto. One thread; no state but the caller's wait. */
#ifndef HK_COLLECTOR_REQUESTS_H
#define HK_COLLECTOR_REQUESTS_H

#include "collector/server/handler.h"

/* An hk_request_right. */
enum hk_right hk_requests_right(Hk__Request__WhatCase what);

/* An hk_request_handler; CONTEXT is the collector. */
int hk_requests_handle(void *context, Hk__Request *request, struct hk_request_wait *wait,
		       uint8_t **ret_bytes, size_t *ret_size);

#endif
