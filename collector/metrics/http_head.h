/* http_head.h: the head of an HTTP/1 request: what is asked for, and the headers that matter here.
 *
 * Bytes come from anybody: nothing is believed, and what is not understood is refused. No state.
 */
#ifndef HK_COLLECTOR_METRICS_HTTP_HEAD_H
#define HK_COLLECTOR_METRICS_HTTP_HEAD_H

#include <stddef.h>

#define HK_HTTP_HEAD_BYTES 8192u /* of a request's head: longer ones are refused */

struct hk_http_head {
	const char *method;
	const char *path;   /* without a query */
	const char *accept; /* NULL: not said */
	const char *bearer; /* the token of "Authorization: Bearer", NULL: none */
};

/* Takes the head apart that begins TEXT, of SIZE bytes, which is changed; what is returned lies in
 * it. 1; 0: it goes on behind what is there; -EBADMSG: no request. */
int hk_http_head_parse(char *text, size_t size, struct hk_http_head *ret_head);

#endif
