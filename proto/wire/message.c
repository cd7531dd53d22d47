#include "wire/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/unpack.h"

/* Most memory per packed byte: small fields become structs of a hundred bytes. */
#define MEMORY_FACTOR 24u
#define MEMORY_FLOOR (1u << 20)

int hk_message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t size,
		      ProtobufCMessage **ret_message)
{
	if (size > HK_MESSAGE_BYTES_MAX) {
		return -EMSGSIZE;
	}
	size_t budget = hk_message_memory_max(size);
	return hk_unpack(descriptor, bytes, size, &budget, ret_message) < 0 ? -EBADMSG : 0;
}

size_t hk_message_memory_max(size_t size)
{
	return MEMORY_FLOOR + MEMORY_FACTOR * size;
}

int hk_message_unpack_within(const ProtobufCMessageDescriptor *descriptor, const void *bytes,
			     size_t size, size_t *budget, ProtobufCMessage **ret_message)
{
	if (size > HK_MESSAGE_BYTES_MAX) {
		return -EMSGSIZE;
	}
	return hk_unpack(descriptor, bytes, size, budget, ret_message);
}

/* Memory of one value of FIELD at VALUE beyond VALUE itself. */
static size_t value_memory(const ProtobufCFieldDescriptor *field, const void *value)
{
	if (field->type == PROTOBUF_C_TYPE_STRING) {
		const char *text = *(char *const *)value;
		return text && *text ? strlen(text) + 1 : 0;
	}
	if (field->type == PROTOBUF_C_TYPE_BYTES) {
		return ((const ProtobufCBinaryData *)value)->len;
	}
	const ProtobufCMessage *message = *(ProtobufCMessage *const *)value;
	return message ? hk_message_memory(message) : 0;
}

static size_t element_size(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_ENUM:
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(uint32_t);
	default:
		return sizeof(uint64_t);
	}
}

size_t hk_message_memory(const ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *descriptor = message->descriptor;
	size_t bytes = descriptor->sizeof_message;
	for (unsigned i = 0; i < descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
		const char *at = (const char *)message + field->offset;
		bool number = field->type != PROTOBUF_C_TYPE_STRING &&
			      field->type != PROTOBUF_C_TYPE_BYTES &&
			      field->type != PROTOBUF_C_TYPE_MESSAGE;
		if (field->label != PROTOBUF_C_LABEL_REPEATED) {
			bool choice = field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
			bytes += number || choice ? 0 : value_memory(field, at);
			continue;
		}
		size_t count = *(const size_t *)(const void *)((const char *)message +
							       field->quantifier_offset);
		size_t size = element_size(field);
		const char *list = *(char *const *)(const void *)at;
		bytes += count * size;
		for (size_t k = 0; k < count && !number; k++) {
			bytes += value_memory(field, list + k * size);
		}
	}
	return bytes;
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
	/* Empty fields have no address. */
	return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}
