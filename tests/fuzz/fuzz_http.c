/* links: hk_collector */
/* What comes to the port of metrics: the head of a request, and its Accept header. A head is whole
 * or it is not, whatever follows it; what is returned lies in it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/http/http_head.h"
#include "collector/metrics/exposition.h"

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int parse(const uint8_t *data, size_t size)
{
	struct hk_http_head head;
	char *copy = malloc(size + 1);
	REQUIRE(copy);
	memcpy(copy, data, size);
	int r = hk_http_head_parse(copy, size, &head);
	if (r > 0) {
		const char *texts[] = {head.method, head.path, head.accept, head.bearer};
		for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
			REQUIRE(i > 1 || texts[i]);
			REQUIRE(!texts[i] ||
				(texts[i] >= copy && texts[i] < copy + size &&
				 memchr(texts[i], '\0', size - (size_t)(texts[i] - copy))));
		}
		REQUIRE(*head.path == '/');
		(void)hk_exposition_choose(head.accept);
	}
	free(copy);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	REQUIRE(text);
	memcpy(text, data, size);
	text[size] = '\0';
	(void)hk_exposition_choose(text);
	free(text);
	int whole = parse(data, size);
	if (whole == 0 && size > 0) {
		REQUIRE(parse(data, size - 1) == 0);
	}
	return 0;
}
