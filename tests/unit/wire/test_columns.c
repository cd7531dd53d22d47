/* Columns that not every message has: they come and go, and the rows stay whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wire/columns.h"

static Hk__Cells *columns_of(const struct hk_columns_row *rows, size_t count)
{
	struct hk_columns_builder builder = {0};
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(hk_columns_add(&builder, &rows[i]), 0);
	}
	return hk_columns_take(&builder);
}

static void expect_rows(const Hk__Cells *columns, const struct hk_columns_row *rows, size_t count)
{
	struct hk_columns_walk walk = {.columns = columns};
	struct hk_columns_row row;
	assert_true(hk_columns_valid(columns));
	for (size_t i = 0; i < count; i++) {
		assert_true(hk_columns_next(&walk, &row));
		assert_int_equal(row.site, rows[i].site);
		assert_int_equal(row.calls, rows[i].calls);
		assert_int_equal(row.sampled, rows[i].sampled);
		assert_int_equal(row.stacks, rows[i].stacks);
		assert_int_equal(row.sampled_bytes, rows[i].sampled_bytes);
		assert_int_equal(row.device_ns, rows[i].device_ns);
	}
	assert_false(hk_columns_next(&walk, &row));
}

static void test_samples_that_are_all_zeros_are_left_out(void **state)
{
	const struct hk_columns_row rows[] = {{.site = 1, .calls = 5},
					      {.site = 2, .calls = 6, .sampled = 3}};
	(void)state;
	Hk__Cells *without = columns_of(rows, 1), *with = columns_of(rows, 2);
	assert_int_equal(without->n_sampled, 0);
	assert_int_equal(with->n_sampled, 2);
	assert_int_equal(with->n_sampled_bytes, 0);
	expect_rows(without, rows, 1);
	expect_rows(with, rows, 2);
	with->n_sampled = 1;
	assert_false(hk_columns_valid(with));
	with->n_sampled = 2;
	hk__cells__free_unpacked(without, NULL);
	hk__cells__free_unpacked(with, NULL);
}

/* Rows before, between and behind those that are there, some with samples. */
static void test_samples_of_a_change_reach_columns_without(void **state)
{
	const struct hk_columns_row old[] = {{.site = 3, .calls = 1}, {.site = 7, .calls = 2}};
	const struct hk_columns_row change[] = {
	    {.site = 1, .calls = 9, .sampled = 4, .sampled_bytes = 40},
	    {.site = 5, .calls = 8, .stacks = 6, .device_ns = 500},
	    {.site = 7, .calls = 12, .sampled = 1},
	    {.site = 9, .calls = 3, .sampled = 2, .sampled_bytes = 20}};
	const struct hk_columns_row wanted[] = {change[0], old[0], change[1], change[2], change[3]};
	Hk__Cells *columns = columns_of(old, 2), *changes = columns_of(change, 4), *difference;
	Hk__Cells *before = columns_of(old, 2), *none = NULL;
	(void)state;
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(hk_columns_merge(&columns, changes), 0);
		expect_rows(columns, wanted, 5);
	}
	assert_int_equal(hk_columns_difference(columns, before, &difference), 0);
	expect_rows(difference, change, 4);
	assert_int_equal(hk_columns_merge(&none, changes), 0);
	expect_rows(none, change, 4);
	hk__cells__free_unpacked(columns, NULL);
	hk__cells__free_unpacked(changes, NULL);
	hk__cells__free_unpacked(difference, NULL);
	hk__cells__free_unpacked(before, NULL);
	hk__cells__free_unpacked(none, NULL);
}

/* A newer change of the samples alone is a change. */
static void test_samples_alone_are_a_difference(void **state)
{
	const struct hk_columns_row before[] = {{.site = 1, .calls = 5, .sampled = 1}};
	const struct hk_columns_row now[] = {{.site = 1, .calls = 5, .sampled = 2}};
	Hk__Cells *old = columns_of(before, 1), *new = columns_of(now, 1), *difference;
	(void)state;
	assert_int_equal(hk_columns_difference(new, old, &difference), 0);
	expect_rows(difference, now, 1);
	hk__cells__free_unpacked(old, NULL);
	hk__cells__free_unpacked(new, NULL);
	hk__cells__free_unpacked(difference, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_samples_that_are_all_zeros_are_left_out),
	    cmocka_unit_test(test_samples_of_a_change_reach_columns_without),
	    cmocka_unit_test(test_samples_alone_are_a_difference),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
