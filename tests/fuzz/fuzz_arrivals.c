/* links: hk_collector */
/* A leaf that lies about collectives: messages of 2 bytes of length, a byte each of rank and
 * process, and as many bytes. Whatever they say, the window stays within its places. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "collector/arrival/matcher.h"
#include "wire/message.h"

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)
#define HEAD_BYTES 4u
#define PARTS 200u
#define LEAST 5u /* places that a collective takes */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(struct hk_matcher *matcher, const uint8_t *head, size_t size)
{
	const struct hk_matcher_caller caller = {
	    .owner = 1u + head[3] % 8, .rank = head[2] % 8 - 1, .has_clock = head[3] < 250};
	ProtobufCMessage *message;
	if (hk_message_unpack(&hk__arrivals__descriptor, head + HEAD_BYTES, size, &message) == 0) {
		hk_matcher_take(matcher, &caller, (Hk__Arrivals *)message);
		protobuf_c_message_free_unpacked(message, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hk_matcher *matcher = hk_matcher_new(PARTS, NULL);
	Hk__Waits *waits;
	REQUIRE(matcher);
	hk_matcher_set_world(matcher, 4);
	while (size > HEAD_BYTES) {
		size_t length = data[0] + 256u * data[1];
		length = length < size - HEAD_BYTES ? length : size - HEAD_BYTES;
		take(matcher, data, length);
		data += HEAD_BYTES + length;
		size -= HEAD_BYTES + length;
	}
	REQUIRE(hk_matcher_sums(matcher, &waits) == 0);
	REQUIRE(!waits || (waits->open <= PARTS / LEAST && waits->n_sums <= HK_MATCHER_SUMS));
	if (waits) {
		struct hk_matcher *next = hk_matcher_new(PARTS, waits);
		hk_matcher_free(next);
		hk__waits__free_unpacked(waits, NULL);
	}
	hk_matcher_free(matcher);
	return 0;
}
