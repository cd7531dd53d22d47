#include "wire/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/unpack.h"

/* A message may need this many times its packed size: small fields become structs of a hundred
 * bytes. */
#define MEMORY_FACTOR 24u
#define MEMORY_FLOOR (1u << 20)

int hk_message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t size,
		      ProtobufCMessage **ret_message)
{
	if (size > HK_MESSAGE_BYTES_MAX) {
		return -EMSGSIZE;
	}
	size_t budget = MEMORY_FLOOR + MEMORY_FACTOR * size;
	return hk_unpack(descriptor, bytes, size, budget, ret_message) < 0 ? -EBADMSG : 0;
}

int hk_message_pack(const ProtobufCMessage *message, uint8_t **ret_bytes, size_t *ret_size)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	if (size > HK_MESSAGE_BYTES_MAX) {
		return -EMSGSIZE;
	}
	uint8_t *bytes = malloc(size ? size : 1);
	if (!bytes) {
		return -ENOMEM;
	}
	*ret_size = protobuf_c_message_pack(message, bytes);
	*ret_bytes = bytes;
	return 0;
}

bool hk_message_same_bytes(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
	/* What is empty has no address. */
	return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}
