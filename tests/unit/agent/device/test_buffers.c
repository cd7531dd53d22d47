/* The fixed number of buffers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/device/buffers.h"

static void test_all_are_taken_and_given_back(void **state)
{
	uint8_t *taken[HK_DEVICE_BUFFERS], strange[8];

	(void)state;
	for (unsigned i = 0; i < HK_DEVICE_BUFFERS; i++) {
		taken[i] = hk_device_buffer_take();
		assert_non_null(taken[i]);
		memset(taken[i], 0xff, HK_DEVICE_BUFFER_BYTES);
		for (unsigned k = 0; k < i; k++) {
			assert_ptr_not_equal(taken[k], taken[i]);
		}
	}
	assert_null(hk_device_buffer_take());
	assert_false(hk_device_buffer_give(strange));
	assert_false(hk_device_buffer_give(NULL));
	assert_true(hk_device_buffer_give(taken[5]));
	uint8_t *again = hk_device_buffer_take();
	assert_ptr_equal(again, taken[5]);
	/* Libraries may count on zeros. */
	for (unsigned i = 0; i < HK_DEVICE_BUFFER_BYTES; i++) {
		assert_int_equal(again[i], 0);
	}
	hk_device_buffers_reset();
	assert_non_null(hk_device_buffer_take());
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_are_taken_and_given_back)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
