/* links: hk_collector */
/* What a stranger sends before anybody knows who it is: greetings, heads, and requests in which the
 * token is looked for without unpacking. Where a request can be unpacked and packed again, the
 * token found in it is the one that unpacking finds. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/server/nng_framing.h"
#include "collector/server/policy.h"

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_head(bool local, const uint8_t *data, size_t size)
{
	size_t length;
	if (size < hk_framing_head_size(local) || hk_framing_size(local, data, &length)) {
		return;
	}
	uint8_t head[HK_FRAMING_HEAD_MAX];
	REQUIRE(length >= 4 && length <= HK_MESSAGE_BYTES_MAX);
	REQUIRE(hk_framing_head(local, length, head) == hk_framing_head_size(local));
	REQUIRE(memcmp(head, data, hk_framing_head_size(local)) == 0);
}

static size_t find(const uint8_t *data, size_t size, const uint8_t **ret_token)
{
	size_t found = hk_policy_find_token(data, size, ret_token);
	if (found) {
		REQUIRE(*ret_token >= data && found <= size &&
			(size_t)(*ret_token - data) <= size - found);
	}
	return found;
}

static void try_request(const uint8_t *data, size_t size)
{
	ProtobufCMessage *message;
	const uint8_t *token;
	uint8_t *bytes;
	size_t packed;
	find(data, size, &token);
	if (hk_message_unpack(&hk__request__descriptor, data, size, &message) < 0) {
		return;
	}
	const Hk__Request *request = (const Hk__Request *)message;
	/* Unknown fields are packed behind all others, and might look like a second token. */
	if (hk_message_pack(message, &bytes, &packed) == 0) {
		size_t found = find(bytes, packed, &token);
		REQUIRE(found == request->token.len);
		REQUIRE(found == 0 || memcmp(token, request->token.data, found) == 0);
		free(bytes);
	}
	protobuf_c_message_free_unpacked(message, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= HK_FRAMING_GREETING_BYTES) {
		(void)hk_framing_judge(data);
	}
	try_head(true, data, size);
	try_head(false, data, size);
	size_t trace = hk_framing_trace(data, size);
	REQUIRE(trace <= size && trace <= HK_FRAMING_TRACE_MAX && trace % 4 == 0);
	try_request(data + trace, size - trace);
	return 0;
}
