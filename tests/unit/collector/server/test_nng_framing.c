/* How requests lie in a stream: what is one, and what strangers send instead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "collector/server/nng_framing.h"
#include "wire/message.h"

static void test_only_an_askers_greeting_is_one(void **state)
{
	static const struct {
		uint8_t bytes[HK_FRAMING_GREETING_BYTES];
		const char *why;
	} others[] = {
	    {{0, 'S', 'P', 0, 0, 0x31, 0, 0}, "not this protocol"}, /* one that answers */
	    {{0, 'S', 'P', 0, 0, 0x30, 0, 1}, "not this protocol"},
	    {{'G', 'E', 'T', ' ', '/', ' ', 'H', 'T'}, "speaks HTTP"},
	    {{'P', 'O', 'S', 'T', ' ', '/', ' ', 'H'}, "speaks HTTP"},
	    {{0x16, 3, 1, 2, 0, 1, 0, 1}, "speaks TLS, this address does not"},
	    {{0x16, 4, 1, 2, 0, 1, 0, 1}, "not this protocol"},
	};
	const uint8_t asker[HK_FRAMING_GREETING_BYTES] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};
	(void)state;
	assert_null(hk_framing_judge(asker));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_string_equal(hk_framing_judge(others[i].bytes), others[i].why);
	}
}

static void test_sizes_come_back_within_their_limits(void **state)
{
	static const uint64_t sizes[] = {4, 5, 65536, HK_MESSAGE_BYTES_MAX};
	uint8_t head[HK_FRAMING_HEAD_MAX];
	size_t size;
	(void)state;
	for (unsigned local = 0; local < 2; local++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			assert_int_equal(hk_framing_head(local, sizes[i], head), 8 + local);
			assert_null(hk_framing_size(local, head, &size));
			assert_int_equal(size, sizes[i]);
		}
		hk_framing_head(local, 3, head);
		assert_string_equal(hk_framing_size(local, head, &size), "not a request");
		hk_framing_head(local, (uint64_t)HK_MESSAGE_BYTES_MAX + 1, head);
		assert_non_null(strstr(hk_framing_size(local, head, &size), "more bytes"));
		hk_framing_head(local, UINT64_MAX, head);
		assert_non_null(hk_framing_size(local, head, &size));
	}
	hk_framing_head(true, 100, head);
	head[0] = 2;
	assert_string_equal(hk_framing_size(true, head, &size), "not this protocol");
}

static void test_words_end_with_the_marked_one(void **state)
{
	uint8_t message[64] = {0};
	(void)state;
	assert_int_equal(hk_framing_trace(message, sizeof(message)), 0);
	for (size_t word = 0; word < HK_FRAMING_TRACE_MAX / 4; word++) {
		memset(message, 0, sizeof(message));
		message[4 * word] = 0x80;
		assert_int_equal(hk_framing_trace(message, sizeof(message)), 4 * word + 4);
		/* Not all of it has come. */
		assert_int_equal(hk_framing_trace(message, 4 * word + 3), 0);
	}
	memset(message, 0, sizeof(message));
	message[HK_FRAMING_TRACE_MAX] = 0x80;
	assert_int_equal(hk_framing_trace(message, sizeof(message)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_only_an_askers_greeting_is_one),
	    cmocka_unit_test(test_sizes_come_back_within_their_limits),
	    cmocka_unit_test(test_words_end_with_the_marked_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
