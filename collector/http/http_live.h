/* http_live.h: answers clients that wait for a live page. The collector's thread only. */
#ifndef HK_COLLECTOR_HTTP_HTTP_LIVE_H
#define HK_COLLECTOR_HTTP_HTTP_LIVE_H

struct hk_http;

/* Asks for the pages that clients of HTTP want, and sends those that have been made. */
void hk_http_run_live(struct hk_http *http);

#endif
