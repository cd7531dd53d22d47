/* Line tables of each kind. The bytes come from CPython: dis.findlinestarts() and co_lines() of the
 * functions in the comments say the lines expected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/stack/python_lines.h"

#define LINE(version, table, first, place) \
	hk_python_line(version, table, sizeof(table), first, place)

/* 3.9: def f(): [line 10] / x = 1 [11] / (300 lines) / y = 2 [312] / for z in y: [310, back] */
static void test_steps_go_forward_and_back(void **state)
{
	static const uint8_t table[] = {0, 1, 4, 127, 0, 127, 0, 47, 4, 0xfe};

	(void)state;
	assert_int_equal(LINE(0x0309, table, 10, -1), 10);
	assert_int_equal(LINE(0x0309, table, 10, 0), 11);
	assert_int_equal(LINE(0x0309, table, 10, 2), 11);
	assert_int_equal(LINE(0x0309, table, 10, 4), 312);
	assert_int_equal(LINE(0x0308, table, 10, 6), 312);
	assert_int_equal(LINE(0x0308, table, 10, 8), 310);
	assert_int_equal(LINE(0x0308, table, 10, 1000), 310);
	assert_int_equal(hk_python_line(0x0308, NULL, 0, 7, 2), 7);
}

/* 3.10: ranges of 4 bytes at line 11, 2 without a line, 6 at line 9. */
static void test_ranges_may_have_no_line(void **state)
{
	static const uint8_t table[] = {4, 1, 2, 0x80, 6, 0xfe};

	(void)state;
	assert_int_equal(LINE(0x030a, table, 10, -2), 10);
	assert_int_equal(LINE(0x030a, table, 10, 0), 11);
	assert_int_equal(LINE(0x030a, table, 10, 3), 11);
	assert_int_equal(LINE(0x030a, table, 10, 4), 0);
	assert_int_equal(LINE(0x030a, table, 10, 6), 9);
	assert_int_equal(LINE(0x030a, table, 10, 12), 0);
}

/* From 3.11 on: a head without a line, a short entry on the same line, one a line later with its
 * columns, a long one 100 lines later with three numbers more, one without columns 2 lines back,
 * one without a line. */
static void test_locations_of_every_form(void **state)
{
	static const uint8_t table[] = {0xf8, 0x80, 0x12, 0xda, 1,    2, 0xf1, 0x48,
					3,    0,    4,	  5,	0xe8, 5, 0xf8};

	(void)state;
	assert_int_equal(LINE(0x030c, table, 10, 0), 10); /* before the first line: the head */
	assert_int_equal(LINE(0x030c, table, 10, 2), 10);
	assert_int_equal(LINE(0x030c, table, 10, 4), 11);
	assert_int_equal(LINE(0x030c, table, 10, 8), 11);
	assert_int_equal(LINE(0x030c, table, 10, 10), 111);
	assert_int_equal(LINE(0x030c, table, 10, 13), 111);
	assert_int_equal(LINE(0x030c, table, 10, 14), 109);
	assert_int_equal(LINE(0x030c, table, 10, 16), 0);
	assert_int_equal(LINE(0x030c, table, 10, 18), 0);
}

/* Any bytes end, and nothing behind them is read: the table lies at the end of its memory. */
static void test_any_bytes(void **state)
{
	static const uint16_t versions[] = {0x0308, 0x030a, 0x030b, 0x030d};

	(void)state;
	srandom(20261125);
	for (int round = 0; round < 20000; round++) {
		size_t bytes = (size_t)random() % 40;
		uint8_t *table = malloc(bytes ? bytes : 1);
		for (size_t i = 0; i < bytes; i++) {
			table[i] = (uint8_t)random();
		}
		for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
			hk_python_line(versions[i], table, bytes, 1, random() % 200 - 10);
			hk_python_line(versions[i], table, bytes, 1, INT64_MAX);
		}
		free(table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_steps_go_forward_and_back),
	    cmocka_unit_test(test_ranges_may_have_no_line),
	    cmocka_unit_test(test_locations_of_every_form),
	    cmocka_unit_test(test_any_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
