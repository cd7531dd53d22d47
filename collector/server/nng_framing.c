#include "collector/server/nng_framing.h"

#include <endian.h>
#include <string.h>

#include "wire/message.h"

#define LENGTH_BYTES 8u
#define WORD_BYTES 4u
#define LOCAL_MARK 1u
#define LAST_WORD 0x80u

const uint8_t hk_framing_greeting[HK_FRAMING_GREETING_BYTES] = {0, 'S', 'P', 0, 0, 0x31, 0, 0};
static const uint8_t greeting_asker[HK_FRAMING_GREETING_BYTES] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};

const char *hk_framing_judge(const uint8_t greeting[HK_FRAMING_GREETING_BYTES])
{
	static const char *const methods[] = {"GET ", "POST", "HEAD", "PUT ", "OPTI"};
	if (memcmp(greeting, greeting_asker, HK_FRAMING_GREETING_BYTES) == 0) {
		return NULL;
	}
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (memcmp(greeting, methods[i], strlen(methods[i])) == 0) {
			return "speaks HTTP";
		}
	}
	bool tls = greeting[0] == 0x16 && greeting[1] == 3; /* a handshake record */
	return tls ? "speaks TLS, this address does not" : "not this protocol";
}

size_t hk_framing_head_size(bool local)
{
	return LENGTH_BYTES + local;
}

size_t hk_framing_head(bool local, uint64_t size, uint8_t head[HK_FRAMING_HEAD_MAX])
{
	uint64_t length = htobe64(size);
	head[0] = LOCAL_MARK;
	memcpy(head + local, &length, sizeof(length));
	return hk_framing_head_size(local);
}

const char *hk_framing_size(bool local, const uint8_t *head, size_t *ret_size)
{
	uint64_t length;
	memcpy(&length, head + local, sizeof(length));
	length = be64toh(length);
	if (local && head[0] != LOCAL_MARK) {
		return "not this protocol";
	}
	if (length > HK_MESSAGE_BYTES_MAX) {
		return "a message of more bytes than may be";
	}
	if (length < WORD_BYTES) {
		return "not a request";
	}
	*ret_size = length;
	return NULL;
}

size_t hk_framing_trace(const uint8_t *message, size_t size)
{
	size_t end = size < HK_FRAMING_TRACE_MAX ? size : HK_FRAMING_TRACE_MAX;
	for (size_t at = 0; at + WORD_BYTES <= end; at += WORD_BYTES) {
		if (message[at] & LAST_WORD) {
			return at + WORD_BYTES;
		}
	}
	return 0;
}
