/* http_head.h: parses the head of an HTTP/1 request: its path and the headers that matter here.
 *
 * The bytes are hostile. A head that is not understood is refused. No state.
 */
#ifndef HK_COLLECTOR_HTTP_HTTP_HEAD_H
#define HK_COLLECTOR_HTTP_HTTP_HEAD_H

#include <stddef.h>

#define HK_HTTP_HEAD_BYTES 8192u /* of a request's head: longer ones are refused */

struct hk_http_head {
	const char *method;
	const char *path;   /* without a query */
	const char *accept; /* NULL: not said */
	const char *host;   /* NULL: not said */
	/* The token of "Authorization: Bearer", or the password of "Authorization: Basic", by which
	 * browsers send it. NULL: none. */
	const char *bearer;
};

/* Parses the head of a request at the begin of TEXT, SIZE bytes, which it changes. The strings of
 * *RET_HEAD lie in TEXT. Returns 1, 0 if TEXT ends within the head, or -EBADMSG if it is no
 * request. */
int hk_http_head_parse(char *text, size_t size, struct hk_http_head *ret_head);

#endif
