/* links: hk_collector */
/* What a receiver of metrics answers. What is known of an answer does not change by what follows;
 * its words are printable and bounded. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/otlp/answer.h"

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)
#define NOW_S 1000000000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hk_otlp_answer answer, last;
	const char *bytes = (const char *)data;
	int r = hk_otlp_answer_parse(bytes, size, false, NOW_S, &answer);
	int end = hk_otlp_answer_parse(bytes, size, true, NOW_S, &last);
	REQUIRE(end == 1 || end < 0);
	REQUIRE(r != 1 || (end == 1 && answer.status == last.status));
	if (end == 1) {
		REQUIRE(last.status >= 200 && last.status < 600);
		REQUIRE(last.wait_s <= HK_OTLP_WAIT_MAX_S);
		REQUIRE(memchr(last.said, '\0', sizeof(last.said)));
		for (const char *at = last.said; *at; at++) {
			REQUIRE((unsigned char)*at >= ' ' && *at != 0x7f);
		}
	}
	return 0;
}
