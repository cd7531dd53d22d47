#include "model.h"

#include "chunk/varint.h"

/* The plain definition: seven bits to the byte. */
static unsigned put_plain(uint8_t *at, uint64_t value)
{
	unsigned n = 0;

	do {
		at[n] = (uint8_t)(value & 0x7f);
		value >>= 7;
		at[n] |= value ? 0x80 : 0;
		n++;
	} while (value);
	return n;
}

static void check(uint64_t value)
{
	uint8_t plain[HK_VARINT_BYTES_MAX], fast[HK_VARINT_BYTES_MAX];
	unsigned bytes = put_plain(plain, value);

	assert_int_equal(hk_varint_put(fast, value), bytes);
	assert_memory_equal(fast, plain, bytes);
	for (unsigned room = 0; room <= 16; room++) {
		uint8_t buffer[32];
		const uint8_t *at = buffer;
		uint64_t back = ~value;
		/* What lies behind the value must not matter. */
		memset(buffer, room & 1 ? 0xff : 0x00, sizeof(buffer));
		memcpy(buffer, plain, bytes);
		bool read = hk_varint_get(&at, buffer + room, &back);
		assert_int_equal(read, room >= bytes);
		if (read) {
			assert_true(back == value);
			assert_ptr_equal(at, buffer + bytes);
		}
	}
	assert_true(hk_unzigzag(hk_zigzag(value)) == value);
}

static void test_values_of_every_length_come_back(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		check(1ull << bit);
		check((1ull << bit) - 1);
		check(-(1ull << bit));
	}
	for (int i = 0; i < 20000; i++) {
		check(model_random() >> model_below(64));
	}
}

static void test_more_than_64_bits_are_refused(void **state)
{
	uint8_t buffer[16];
	const uint8_t *at = buffer;
	uint64_t value;

	(void)state;
	memset(buffer, 0xff, sizeof(buffer));
	assert_false(hk_varint_get(&at, buffer + sizeof(buffer), &value));
	buffer[9] = 2;
	at = buffer;
	assert_false(hk_varint_get(&at, buffer + sizeof(buffer), &value));
	buffer[9] = 1;
	at = buffer;
	assert_true(hk_varint_get(&at, buffer + sizeof(buffer), &value));
	assert_true(value == UINT64_MAX);
}

static void test_zigzag_keeps_small_deltas_small(void **state)
{
	(void)state;
	assert_int_equal(hk_zigzag(0), 0);
	assert_int_equal(hk_zigzag((uint64_t)-1), 1);
	assert_int_equal(hk_zigzag(1), 2);
	assert_int_equal(hk_zigzag((uint64_t)-64), 127);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_values_of_every_length_come_back),
	    cmocka_unit_test(test_more_than_64_bits_are_refused),
	    cmocka_unit_test(test_zigzag_keeps_small_deltas_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
