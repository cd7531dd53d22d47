/* What is unpacked here is what protobuf-c makes of the same bytes; damaged ones do no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wire/message.h"
#include "wire/unpack.h"

#define ROUNDS 300
#define BUDGET (64u << 20)

static const ProtobufCMessageDescriptor *const tops[] = {
    &hk__request__descriptor, &hk__response__descriptor, &hk__process__descriptor,
    &hk__job__descriptor};

static uint32_t draw(uint32_t below)
{
	static uint32_t seed = 20261122;
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static bool is_object(const ProtobufCFieldDescriptor *field)
{
	return field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES ||
	       field->type == PROTOBUF_C_TYPE_MESSAGE;
}

/* ---- messages made at random, packed by hand so that nothing of protobuf-c's is in doubt ---- */

struct text {
	uint8_t *bytes;
	size_t size, room;
};

static void put(struct text *text, const void *bytes, size_t size)
{
	if (text->size + size > text->room) {
		text->room = 2 * (text->size + size);
		text->bytes = realloc(text->bytes, text->room);
		assert_non_null(text->bytes);
	}
	if (size > 0) {
		memcpy(text->bytes + text->size, bytes, size);
	}
	text->size += size;
}

static void put_number(struct text *text, uint64_t number)
{
	uint8_t byte;
	for (; number >= 0x80; number >>= 7) {
		byte = (uint8_t)(number | 0x80);
		put(text, &byte, 1);
	}
	byte = (uint8_t)number;
	put(text, &byte, 1);
}

/* Of any length, as its field may have it. */
static uint64_t draw_number(const ProtobufCFieldDescriptor *field)
{
	uint64_t number =
	    (uint64_t)draw(1u << 24) << 40 | (uint64_t)draw(1u << 24) << 16 | draw(1u << 16);
	number >>= draw(64);
	return field->type == PROTOBUF_C_TYPE_BOOL ? number & 1 : number;
}

static void put_message(struct text *text, const ProtobufCMessageDescriptor *descriptor,
			unsigned depth);

static void put_object(struct text *text, const ProtobufCFieldDescriptor *field, unsigned depth)
{
	struct text inner = {0};
	put_number(text, field->id << 3 | 2);
	if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		put_message(&inner, field->descriptor, depth + 1);
	} else {
		for (uint32_t i = draw(20); i > 0; i--) {
			put(&inner, &(uint8_t){(uint8_t)(1 + draw(255))}, 1);
		}
	}
	put_number(text, inner.size);
	put(text, inner.bytes, inner.size);
	free(inner.bytes);
}

static void put_list(struct text *text, const ProtobufCFieldDescriptor *field)
{
	struct text inner = {0};
	for (uint32_t i = 1 + draw(40); i > 0; i--) {
		put_number(&inner, draw_number(field));
	}
	put_number(text, field->id << 3 | 2);
	put_number(text, inner.size);
	put(text, inner.bytes, inner.size);
	free(inner.bytes);
}

static void put_message(struct text *text, const ProtobufCMessageDescriptor *descriptor,
			unsigned depth)
{
	bool chosen = false;
	for (unsigned i = 0; i < descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
		bool list = field->label == PROTOBUF_C_LABEL_REPEATED;
		bool choice = field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
		if (draw(3) == 0 || (choice && chosen) || (is_object(field) && depth > 4)) {
			continue;
		}
		chosen |= choice;
		if (is_object(field)) {
			for (uint32_t n = list ? draw(4) : 1; n > 0; n--) {
				put_object(text, field, depth);
			}
		} else if (list) {
			put_list(text, field);
		} else {
			put_number(text, field->id << 3);
			put_number(text, draw_number(field));
		}
	}
}

static void assert_packs_the_same(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
	uint8_t *x, *y;
	size_t x_size, y_size;
	assert_int_equal(hk_message_pack(a, &x, &x_size), 0);
	assert_int_equal(hk_message_pack(b, &y, &y_size), 0);
	assert_int_equal(x_size, y_size);
	assert_memory_equal(x, y, x_size);
	free(x);
	free(y);
}

static void test_messages_are_what_protobuf_makes_of_them(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		const ProtobufCMessageDescriptor *top = tops[round % 4];
		struct text text = {0};
		ProtobufCMessage *ours;
		put_message(&text, top, 0);
		assert_int_equal(hk_unpack(top, text.bytes, text.size, &(size_t){BUDGET}, &ours),
				 0);
		ProtobufCMessage *theirs =
		    protobuf_c_message_unpack(top, NULL, text.size, text.bytes);
		assert_non_null(theirs);
		assert_packs_the_same(ours, theirs);
		protobuf_c_message_free_unpacked(ours, NULL);
		protobuf_c_message_free_unpacked(theirs, NULL);
		free(text.bytes);
	}
}

/* In memory of exactly their size, where a sanitizer sees what is read beyond it. */
static void try_damaged(const ProtobufCMessageDescriptor *top, const struct text *text)
{
	size_t size = draw(2) ? text->size : draw((uint32_t)text->size + 1);
	uint8_t *bytes = malloc(size ? size : 1);
	ProtobufCMessage *message;
	assert_non_null(bytes);
	memcpy(bytes, text->bytes, size);
	for (uint32_t n = 1 + draw(3); n > 0 && size > 0; n--) {
		bytes[draw((uint32_t)size)] = (uint8_t)draw(256);
	}
	if (hk_unpack(top, bytes, size, &(size_t){BUDGET}, &message) == 0) {
		uint8_t *packed;
		size_t packed_size;
		assert_int_equal(hk_message_pack(message, &packed, &packed_size), 0);
		free(packed);
		protobuf_c_message_free_unpacked(message, NULL);
	}
	free(bytes);
}

static void test_damaged_messages_do_no_harm(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		const ProtobufCMessageDescriptor *top = tops[round % 4];
		struct text text = {0};
		put_message(&text, top, 0);
		for (int i = 0; i < 20 && text.size > 0; i++) {
			try_damaged(top, &text);
		}
		free(text.bytes);
	}
}

static int unpack_job(const void *bytes, size_t size, size_t budget)
{
	ProtobufCMessage *message;
	int r = hk_unpack(&hk__job__descriptor, bytes, size, &budget, &message);
	if (r == 0) {
		protobuf_c_message_free_unpacked(message, NULL);
	}
	return r;
}

static void test_what_no_encoder_writes_is_refused(void **state)
{
	(void)state;
	static const uint8_t root_twice[] = {0xc2, 2, 0, 0xc2, 2, 0}; /* field 40 */
	static const uint8_t long_number[] = {4 << 3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					      0x80,   0x80, 0x80, 0x80, 0x80, 1};
	static const uint8_t no_field[] = {0, 0};
	static const uint8_t group[] = {4 << 3 | 3};
	static const uint8_t as_text[] = {4 << 3 | 2, 1, 1};
	static const uint8_t unknown[] = {0xfa, 0x3f, 1, 'x', 0xf9, 0x3f, 1, 2, 3, 4, 5, 6, 7, 8};
	assert_int_equal(unpack_job(root_twice, sizeof(root_twice), BUDGET), -EBADMSG);
	assert_int_equal(unpack_job(root_twice, 3, BUDGET), 0);
	assert_int_equal(unpack_job(long_number, sizeof(long_number), BUDGET), -EBADMSG);
	assert_int_equal(unpack_job(no_field, sizeof(no_field), BUDGET), -EBADMSG);
	assert_int_equal(unpack_job(group, sizeof(group), BUDGET), -EBADMSG);
	assert_int_equal(unpack_job(as_text, sizeof(as_text), BUDGET), -EBADMSG);
	assert_int_equal(unpack_job(unknown, sizeof(unknown), BUDGET), 0);
	assert_int_equal(unpack_job(root_twice, 3, 16), -ENOMEM);
}

/* ---- what unpack counts on ---- */

static void check_schema(const ProtobufCMessageDescriptor *descriptor, unsigned depth)
{
	assert_true(depth < 12);
	for (unsigned i = 0; i < descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
		bool choice = field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
		assert_true(field->label != PROTOBUF_C_LABEL_REQUIRED);
		/* Whether a number is there is nowhere kept. */
		assert_true(field->label == PROTOBUF_C_LABEL_REPEATED || choice ||
			    field->quantifier_offset == 0);
		assert_true(!choice || is_object(field));
		assert_true(is_object(field) || (field->type != PROTOBUF_C_TYPE_FIXED64 &&
						 field->type != PROTOBUF_C_TYPE_SFIXED64 &&
						 field->type != PROTOBUF_C_TYPE_FIXED32 &&
						 field->type != PROTOBUF_C_TYPE_SFIXED32 &&
						 field->type != PROTOBUF_C_TYPE_FLOAT &&
						 field->type != PROTOBUF_C_TYPE_DOUBLE));
		if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
			check_schema(field->descriptor, depth + 1);
		}
	}
}

static void test_schema_has_only_what_is_unpacked(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		check_schema(tops[i], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_messages_are_what_protobuf_makes_of_them),
	    cmocka_unit_test(test_damaged_messages_do_no_harm),
	    cmocka_unit_test(test_what_no_encoder_writes_is_refused),
	    cmocka_unit_test(test_schema_has_only_what_is_unpacked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
