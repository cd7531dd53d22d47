/* Rows in any order, filtered, and many of them in short; views fill them from whatever a snapshot
 * holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "cli/tui/rows.h"
#include "cli/tui/view.h"
#include "report/build/build.h"

static const struct hk_column columns[] = {
    {"NAME", NULL, HK_CELL_NAME, 0, 10, 9, true},
    {"N", "ALL", HK_CELL_COUNT, HK_CELL_COUNT, 5, 5, true},
};

static struct hk_order order_by(size_t column)
{
	return (struct hk_order){.columns = columns, .column_count = 2, .column = column};
}

static void add(struct hk_rows *rows, const char *key, const char *name, double now, double total)
{
	struct hk_row *row = hk_rows_add(rows, key);
	assert_non_null(row);
	row->cells[0].text = name;
	row->cells[1].now = now;
	row->cells[1].total = total;
}

static void assert_keys(const struct hk_rows *rows, const char *keys)
{
	char seen[64] = "";
	for (size_t i = 0; i < rows->count; i++) {
		size_t used = strlen(seen);
		snprintf(seen + used, sizeof(seen) - used, "%s", rows->rows[i].key);
	}
	assert_string_equal(seen, keys);
}

static void test_rows_are_sorted_by_any_column(void **state)
{
	(void)state;
	struct hk_rows rows = {.rows = NULL};
	struct hk_order order = order_by(1);
	add(&rows, "a", "zebra", 1, 30);
	add(&rows, "b", "Ant", NAN, 20);
	add(&rows, "c", "bee", 3, 10);
	hk_rows_sort(&rows, &order);
	assert_keys(&rows, "cab");
	/* What was not measured comes last either way. */
	order.reverse = true;
	hk_rows_sort(&rows, &order);
	assert_keys(&rows, "acb");
	order.reverse = false;
	order.totals = true;
	hk_rows_sort(&rows, &order);
	assert_keys(&rows, "abc");
	order = order_by(0);
	hk_rows_sort(&rows, &order);
	assert_keys(&rows, "bca");
	assert_int_equal(hk_rows_find(&rows, "c"), 1);
	assert_int_equal(hk_rows_find(&rows, "none"), 3);
	hk_rows_filter(&rows, &order, "EB");
	assert_keys(&rows, "a");
	hk_rows_fini(&rows);
}

static void test_what_stands_aside_is_hidden_unless_there_is_nothing_else(void **state)
{
	(void)state;
	struct hk_rows rows = {.rows = NULL};
	add(&rows, "a", "MPI_Send", 1, 1);
	add(&rows, "b", "poll", 2, 2);
	rows.rows[1].aside = true;
	add(&rows, "c", "MPI_Recv", 3, 3);
	assert_int_equal(hk_rows_hide(&rows), 1);
	assert_keys(&rows, "ac");
	rows.rows[0].aside = rows.rows[1].aside = true;
	assert_int_equal(hk_rows_hide(&rows), 0);
	assert_keys(&rows, "ac");
	hk_rows_fini(&rows);
}

static void test_many_rows_are_shortened(void **state)
{
	(void)state;
	struct hk_rows rows = {.rows = NULL};
	struct hk_order order = order_by(1);
	for (int i = 0; i < 101; i++) {
		char key[16];
		snprintf(key, sizeof(key), "%d", i);
		add(&rows, key, "rank", i, 0);
	}
	hk_rows_sort(&rows, &order);
	hk_rows_shorten(&rows, &order, "ranks");
	assert_int_equal(rows.count, 11);
	assert_string_equal(rows.rows[0].key, "100");
	assert_string_equal(rows.rows[7].key, "93");
	assert_string_equal(rows.rows[8].cells[0].text, "median of 101 ranks");
	assert_true(rows.rows[8].cells[1].now == 50);
	assert_string_equal(rows.rows[9].cells[0].text, "(92 more)");
	assert_string_equal(rows.rows[10].key, "0");
	hk_rows_fini(&rows);
	for (int i = 0; i < 16; i++) {
		add(&rows, i % 2 ? "x" : "y", "rank", i, 0);
	}
	hk_rows_shorten(&rows, &order, "ranks");
	assert_int_equal(rows.count, 16);
	hk_rows_fini(&rows);
}

static void test_views_are_named_by_what_begins_their_names(void **state)
{
	(void)state;
	assert_ptr_equal(hk_view_find("ranks"), &hk_view_ranks);
	assert_ptr_equal(hk_view_find("mem"), &hk_view_memory);
	assert_null(hk_view_find("")); /* all of them */
	assert_null(hk_view_find("ranksx"));
	for (size_t i = 0; i < HK_VIEWS; i++) {
		assert_true(hk_views[i]->column_count <= HK_ROW_CELLS);
		assert_true(hk_views[i]->sort < hk_views[i]->column_count);
		assert_int_equal(hk_views[i]->columns[0].kind, HK_CELL_NAME);
	}
}

static void test_every_view_of_an_empty_job_is_empty(void **state)
{
	(void)state;
	Hk__Snapshot message = HK__SNAPSHOT__INIT;
	Hk__Job job = HK__JOB__INIT;
	struct hk_top_snapshot snapshot = {.job = {.snapshot = &message}};
	message.job = &job;
	assert_int_equal(hk_report_new(&message, &snapshot.report), 0);
	for (size_t i = 0; i < HK_VIEWS; i++) {
		struct hk_rows rows = {.rows = NULL};
		const struct hk_scene scene = {&snapshot, hk_history_new(), hk_history_new()};
		hk_history_begin(scene.history, 0, true);
		hk_views[i]->fill(&scene, &rows);
		assert_int_equal(rows.count, 0);
		assert_false(rows.failed);
		hk_rows_fini(&rows);
		hk_history_free(scene.history);
		hk_history_free(scene.below);
	}
	hk_report_free(snapshot.report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows_are_sorted_by_any_column),
	    cmocka_unit_test(test_what_stands_aside_is_hidden_unless_there_is_nothing_else),
	    cmocka_unit_test(test_many_rows_are_shortened),
	    cmocka_unit_test(test_views_are_named_by_what_begins_their_names),
	    cmocka_unit_test(test_every_view_of_an_empty_job_is_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
