#include "wire/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A message may need this many times its packed size: small fields become structs of a hundred
 * bytes. */
#define MEMORY_FACTOR 24u
#define MEMORY_FLOOR (1u << 20)

struct budget {
	size_t left;
};

static void *budget_alloc(void *data, size_t size)
{
	struct budget *budget = data;
	if (size > budget->left) {
		return NULL;
	}
	budget->left -= size;
	return malloc(size ? size : 1);
}

static void budget_free(void *data, void *pointer)
{
	(void)data;
	free(pointer);
}

int hk_message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t size,
		      ProtobufCMessage **ret_message)
{
	if (size > HK_MESSAGE_BYTES_MAX) {
		return -EMSGSIZE;
	}
	struct budget budget = {.left = MEMORY_FLOOR + MEMORY_FACTOR * size};
	ProtobufCAllocator allocator = {budget_alloc, budget_free, &budget};
	ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, &allocator, size, bytes);
	if (!message) {
		return -EBADMSG;
	}
	*ret_message = message;
	return 0;
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
