#include "model.h"

#include "base/varint.h"
#include "chunk/codec/varints.h"

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

#define MANY 67u
#define UNTOUCHED 0xa5

/* `count` values of at most `bits` bits, each way, against one at a time. */
static void check_many(uint64_t *values, unsigned count, unsigned bits)
{
	uint8_t plain[MANY * HK_VARINT_BYTES_MAX], fast[sizeof(plain) + HK_VARINTS_SLACK + 1];
	size_t bytes = 0;

	for (unsigned i = 0; i < count; i++) {
		uint64_t dense = bits ? model_random() >> (64 - bits) >> model_below(bits) : 0;
		values[i] = bits && i % 3 == 0 ? 1ull << model_below(bits) : dense;
		bytes += put_plain(plain + bytes, values[i]);
	}
	for (unsigned way = 0; way < hk_varints_way_count; way++) {
		if (!hk_varints_ways[way].runs_here()) {
			continue;
		}
		memset(fast, UNTOUCHED, sizeof(fast));
		assert_ptr_equal(hk_varints_ways[way].put(fast, values, count), fast + bytes);
		assert_memory_equal(fast, plain, bytes);
		size_t room = count * HK_VARINT_BYTES_MAX + HK_VARINTS_SLACK;
		assert_int_equal(fast[room], UNTOUCHED);
	}
}

static void test_each_way_writes_the_same_bytes(void **state)
{
	uint64_t values[MANY];

	(void)state;
	for (unsigned bits = 0; bits <= 64; bits++) {
		for (unsigned count = 0; count <= MANY; count++) {
			check_many(values, count, bits);
		}
	}
	assert_true(hk_varints_ways[hk_varints_way_count - 1].runs_here());
	assert_non_null(hk_varints_put_here());
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
	    cmocka_unit_test(test_each_way_writes_the_same_bytes),
	    cmocka_unit_test(test_more_than_64_bits_are_refused),
	    cmocka_unit_test(test_zigzag_keeps_small_deltas_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
