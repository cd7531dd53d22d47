/* answer.h: parses the answer to a push: a response of HTTP/1, and what OTLP says in its body.
 *
 * The bytes are hostile and bounded. No state.
 */
#ifndef HK_COLLECTOR_OTLP_ANSWER_H
#define HK_COLLECTOR_OTLP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_OTLP_ANSWER_BYTES 16384u /* longer ones are not read */
#define HK_OTLP_WAIT_MAX_S 3600u    /* longest Retry-After that is obeyed */
#define HK_OTLP_SAID_BYTES 641u	    /* of 160 columns */

struct hk_otlp_answer {
	unsigned status;
	uint32_t wait_s;	       /* of Retry-After; 0: not said */
	uint64_t rejected;	       /* data points */
	char said[HK_OTLP_SAID_BYTES]; /* the receiver's words, printable; "": none */
};

/* Parses the SIZE bytes that came so far. LAST: no more will come. NOW_S: the present time, since
 * the Unix epoch. Returns 1, 0 if more must come, or -EBADMSG. */
int hk_otlp_answer_parse(const char *bytes, size_t size, bool last, uint64_t now_s,
			 struct hk_otlp_answer *ret_answer);

#endif
