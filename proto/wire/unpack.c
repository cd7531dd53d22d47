#include "wire/unpack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"

#define DEPTH_MAX 16u

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_64_BITS = 1,
	WIRE_BYTES = 2,
	WIRE_32_BITS = 5,
};

typedef const ProtobufCFieldDescriptor field_type;

/* Position in the bytes of a message. */
struct input {
	const uint8_t *at, *end;
	size_t *budget; /* shared by all messages */
	unsigned depth;
};

/* Value behind a field's tag. */
struct value {
	enum wire_type type;
	uint64_t number;      /* with a variable-length encoding */
	const uint8_t *bytes; /* WIRE_BYTES */
	size_t size;
};

static int message(const ProtobufCMessageDescriptor *descriptor, struct input input,
		   ProtobufCMessage **ret_message);

static void *part(ProtobufCMessage *of, unsigned offset)
{
	return (char *)of + offset;
}

static void *allocate(const struct input *input, size_t size)
{
	if (size > *input->budget) {
		return NULL;
	}
	*input->budget -= size;
	return malloc(size ? size : 1);
}

/* ---- reading ---- */

static bool skip(struct input *input, size_t size)
{
	if (size > (size_t)(input->end - input->at)) {
		return false;
	}
	input->at += size;
	return true;
}

static bool read_value(struct input *input, struct value *ret_value)
{
	uint64_t size;
	switch (ret_value->type) {
	case WIRE_VARINT:
		return hk_varint_get(&input->at, input->end, &ret_value->number);
	case WIRE_64_BITS:
		return skip(input, sizeof(uint64_t));
	case WIRE_32_BITS:
		return skip(input, sizeof(uint32_t));
	case WIRE_BYTES:
		if (!hk_varint_get(&input->at, input->end, &size)) {
			return false;
		}
		ret_value->bytes = input->at;
		ret_value->size = size;
		return skip(input, size);
	default:
		return false;
	}
}

/* ---- numbers ---- */

static bool is_number(field_type *field)
{
	return field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_BYTES &&
	       field->type != PROTOBUF_C_TYPE_MESSAGE;
}

/* Memory of one number of FIELD; 0 for fields of fixed length on the wire. */
static size_t number_size(field_type *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_UINT64:
		return sizeof(uint64_t);
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_ENUM:
		return sizeof(uint32_t);
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	default:
		return 0;
	}
}

static void put_number(field_type *field, uint64_t number, void *to)
{
	uint32_t narrow = (uint32_t)number;
	switch (field->type) {
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)to = number != 0;
		break;
	case PROTOBUF_C_TYPE_SINT64:
		number = hk_unzigzag(number);
		memcpy(to, &number, sizeof(number));
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_UINT64:
		memcpy(to, &number, sizeof(number));
		break;
	case PROTOBUF_C_TYPE_SINT32:
		narrow = (uint32_t)hk_unzigzag(narrow);
		memcpy(to, &narrow, sizeof(narrow));
		break;
	default:
		memcpy(to, &narrow, sizeof(narrow));
		break;
	}
}

/* Number of variable-length numbers that end in BYTES. */
static size_t count_numbers(const uint8_t *bytes, size_t size)
{
	size_t count = 0, i = 0;
	for (; size - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
		uint64_t eight;
		memcpy(&eight, bytes + i, sizeof(eight));
		count += (~eight >> 7 & 0x0101010101010101u) * 0x0101010101010101u >> 56;
	}
	for (; i < size; i++) {
		count += bytes[i] < 0x80;
	}
	return count;
}

/* Most numbers of a column are equally long, one or two bytes: a branch is cheaper than shifts. */
static inline bool next_number(const uint8_t **at, const uint8_t *end, uint64_t *ret_number)
{
	const uint8_t *bytes = *at;
	if (end - bytes >= 2) {
		if (bytes[0] < 0x80) {
			*ret_number = bytes[0];
			*at = bytes + 1;
			return true;
		}
		if (bytes[1] < 0x80) {
			*ret_number = (bytes[0] & 0x7fu) | (uint64_t)bytes[1] << 7;
			*at = bytes + 2;
			return true;
		}
	}
	return hk_varint_get(at, end, ret_number);
}

/* Reads the COUNT numbers of a packed list to LIST. */
static bool read_numbers(field_type *field, const struct value *value, size_t count, void *list)
{
	const uint8_t *at = value->bytes, *end = value->bytes + value->size;
	const size_t size = number_size(field);
	uint64_t number = 0;
	bool sound = true;
	if (field->type == PROTOBUF_C_TYPE_UINT64) {
		uint64_t *numbers = list;
		for (size_t i = 0; i < count && sound; i++) {
			sound = next_number(&at, end, &numbers[i]);
		}
	} else if (field->type == PROTOBUF_C_TYPE_UINT32) {
		uint32_t *numbers = list;
		for (size_t i = 0; i < count && sound; i++) {
			sound = next_number(&at, end, &number);
			numbers[i] = (uint32_t)number;
		}
	} else {
		for (size_t i = 0; i < count && sound; i++) {
			sound = next_number(&at, end, &number);
			put_number(field, number, (char *)list + i * size);
		}
	}
	return sound && at == end;
}

/* ---- fields ---- */

static int take_numbers(field_type *field, const struct input *input, const struct value *value,
			ProtobufCMessage *to)
{
	size_t *count = part(to, field->quantifier_offset);
	void **list = part(to, field->offset);
	size_t numbers = count_numbers(value->bytes, value->size);
	if (*list || number_size(field) == 0) {
		return -EBADMSG; /* a list must come in one piece */
	}
	*list = allocate(input, numbers * number_size(field));
	if (!*list || !read_numbers(field, value, numbers, *list)) {
		return *list ? -EBADMSG : -ENOMEM;
	}
	*count = numbers;
	return 0;
}

/* Copies the text, bytes or message of VALUE to the empty field at TO. */
static int take_object(field_type *field, const struct input *input, const struct value *value,
		       void *to)
{
	if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		const struct input inner = {value->bytes, value->bytes + value->size, input->budget,
					    input->depth + 1};
		return message(field->descriptor, inner, to);
	}
	bool text = field->type == PROTOBUF_C_TYPE_STRING;
	char *copy = allocate(input, value->size + text);
	if (!copy) {
		return -ENOMEM;
	}
	memcpy(copy, value->bytes, value->size);
	if (text) {
		copy[value->size] = '\0';
		*(char **)to = copy;
	} else {
		*(ProtobufCBinaryData *)to = (ProtobufCBinaryData){value->size, (uint8_t *)copy};
	}
	return 0;
}

/* Adds VALUE to a list; the capacity of a list is the next power of two. */
static int take_element(field_type *field, const struct input *input, const struct value *value,
			ProtobufCMessage *to)
{
	size_t *count = part(to, field->quantifier_offset);
	char **list = part(to, field->offset);
	const size_t size =
	    field->type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData) : sizeof(void *);
	if ((*count & (*count - 1)) == 0) {
		size_t room = *count ? 2 * *count : 1;
		if ((room - *count) * size > *input->budget) {
			return -ENOMEM;
		}
		char *larger = realloc(*list, room * size);
		if (!larger) {
			return -ENOMEM;
		}
		*input->budget -= (room - *count) * size;
		*list = larger;
	}
	int r = take_object(field, input, value, *list + *count * size);
	*count += r == 0;
	return r;
}

static bool is_empty(field_type *field, const void *at)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
		return *(char *const *)at == protobuf_c_empty_string;
	case PROTOBUF_C_TYPE_BYTES:
		return !((const ProtobufCBinaryData *)at)->data;
	default:
		return !*(void *const *)at;
	}
}

static int take_single(field_type *field, const struct input *input, const struct value *value,
		       ProtobufCMessage *to)
{
	void *at = part(to, field->offset);
	bool choice = field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
	uint32_t *chosen = choice ? part(to, field->quantifier_offset) : NULL;
	if (choice ? *chosen != 0 : !is_empty(field, at)) {
		return -EBADMSG;
	}
	int r = take_object(field, input, value, at);
	if (choice && r == 0) {
		*chosen = field->id;
	}
	return r;
}

static int take(field_type *field, const struct input *input, const struct value *value,
		ProtobufCMessage *to)
{
	bool number = is_number(field), list = field->label == PROTOBUF_C_LABEL_REPEATED;
	if (value->type != (number && !list ? WIRE_VARINT : WIRE_BYTES)) {
		return -EBADMSG;
	}
	if (list) {
		return number ? take_numbers(field, input, value, to)
			      : take_element(field, input, value, to);
	}
	if (!number) {
		return take_single(field, input, value, to);
	}
	if (number_size(field) == 0) {
		return -EBADMSG;
	}
	put_number(field, value->number, part(to, field->offset));
	return 0;
}

/* ---- messages ---- */

static int fields(const ProtobufCMessageDescriptor *descriptor, struct input *input,
		  ProtobufCMessage *to)
{
	field_type *field = NULL;
	int r = 0;
	while (r == 0 && input->at < input->end) {
		struct value value;
		uint64_t tag;
		if (!hk_varint_get(&input->at, input->end, &tag) || tag >> 3 == 0 ||
		    tag > UINT32_MAX) {
			return -EBADMSG;
		}
		value.type = tag & 7;
		if (!read_value(input, &value)) {
			return -EBADMSG;
		}
		if (!field || field->id != tag >> 3) {
			field = protobuf_c_message_descriptor_get_field(descriptor,
									(unsigned)(tag >> 3));
		}
		r = field ? take(field, input, &value, to) : 0;
	}
	return r;
}

static int message(const ProtobufCMessageDescriptor *descriptor, struct input input,
		   ProtobufCMessage **ret_message)
{
	ProtobufCMessage *made =
	    input.depth < DEPTH_MAX ? allocate(&input, descriptor->sizeof_message) : NULL;
	if (!made) {
		return -ENOMEM;
	}
	protobuf_c_message_init(descriptor, made);
	int r = fields(descriptor, &input, made);
	if (r < 0) {
		protobuf_c_message_free_unpacked(made, NULL);
		return r;
	}
	*ret_message = made;
	return 0;
}

int hk_unpack(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t size,
	      size_t *budget, ProtobufCMessage **ret_message)
{
	const uint8_t *at = bytes;
	return message(descriptor, (struct input){at, at + size, budget, 0}, ret_message);
}
