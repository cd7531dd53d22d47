/* The memory of one message is bounded by the bytes it came in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/message.h"

static void test_message_survives_a_round_trip(void **state)
{
	(void)state;
	Hk__Job job = HK__JOB__INIT;
	job.id = (char *)"job \"1\"";
	job.start_unix_ns = UINT64_MAX;
	job.world_size = -1;
	uint8_t *bytes;
	size_t size;
	assert_int_equal(hk_message_pack(&job.base, &bytes, &size), 0);
	ProtobufCMessage *message;
	assert_int_equal(hk_message_unpack(&hk__job__descriptor, bytes, size, &message), 0);
	Hk__Job *copy = (Hk__Job *)message;
	assert_string_equal(copy->id, job.id);
	assert_true(copy->start_unix_ns == UINT64_MAX);
	assert_int_equal(copy->world_size, -1);
	protobuf_c_message_free_unpacked(message, NULL);
	free(bytes);
}

static void test_message_that_grows_in_memory_is_refused(void **state)
{
	(void)state;
	/* A million empty submessages of two bytes each (field 2, length 0) would need over 200
	 * MiB. */
	const size_t count = 1u << 20;
	uint8_t *bytes = malloc(2 * count);
	assert_non_null(bytes);
	for (size_t i = 0; i < count; i++) {
		bytes[2 * i] = 2 << 3 | 2;
		bytes[2 * i + 1] = 0;
	}
	ProtobufCMessage *message;
	assert_int_equal(hk_message_unpack(&hk__snapshot__descriptor, bytes, 2 * count, &message),
			 -EBADMSG);
	free(bytes);
}

static void test_message_truncated_or_too_long_is_refused(void **state)
{
	(void)state;
	static const uint8_t truncated[] = {1 << 3 | 2, 10, 'a'};
	ProtobufCMessage *message;
	assert_int_equal(
	    hk_message_unpack(&hk__job__descriptor, truncated, sizeof(truncated), &message),
	    -EBADMSG);
	assert_int_equal(
	    hk_message_unpack(&hk__job__descriptor, truncated, HK_MESSAGE_BYTES_MAX + 1, &message),
	    -EMSGSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_message_survives_a_round_trip),
	    cmocka_unit_test(test_message_that_grows_in_memory_is_refused),
	    cmocka_unit_test(test_message_truncated_or_too_long_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
