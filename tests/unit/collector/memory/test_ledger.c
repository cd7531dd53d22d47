/* The ledger's rules, one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "ledger_maker.h"

/* A row by its device too: at most one. */
static struct hk_ledger_row device_row_of(const struct hk_ledger *ledger, const char *kind,
					  int32_t device, const char *library)
{
	struct hk_ledger_row row, found = {0};
	for (size_t i = 0; hk_ledger_row(ledger, i, &row) > 0; i++) {
		if (strcmp(row.kind, kind) == 0 && row.device == device &&
		    strcmp(row.library, library) == 0) {
			assert_null(found.kind);
			found = row;
		}
	}
	return found;
}

#define CHECK_DEVICE(ledger, kind, device, library, want_allocs, want_frees, want_live, want_peak) \
	do {                                                                                       \
		struct hk_ledger_row row_ = device_row_of(ledger, kind, device, library);          \
		assert_int_equal(row_.allocs, want_allocs);                                        \
		assert_int_equal(row_.frees, want_frees);                                          \
		assert_int_equal(row_.live_bytes, want_live);                                      \
		assert_int_equal(row_.peak_bytes, want_peak);                                      \
	} while (0)

static void test_each_device_has_its_rows(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	uint32_t alloc_a = DEVICE_SITE(HK_MEMORY_DEVICE, HK_MEANING_ALLOC, 0);
	uint32_t alloc_b = DEVICE_SITE(HK_MEMORY_DEVICE, HK_MEANING_ALLOC, 1);
	uint32_t managed = DEVICE_SITE(HK_MEMORY_MANAGED, HK_MEANING_ALLOC, 0);
	add(ledger, &(struct call){10, 11, {100, 0x1000, 0}, alloc_a, 1});
	add(ledger, &(struct call){12, 13, {50, 0x2000, 1}, alloc_a, 2});
	add(ledger, &(struct call){14, 15, {7, 0x3000, 1}, alloc_b, 1});
	add(ledger, &(struct call){16, 17, {30, 0x4000, 1}, managed, 1});
	/* Blocks are freed by another library and thread, by a call that does not name the
	 * memory. */
	uint32_t release = DEVICE_SITE(HK_MEMORY_DEVICE, HK_MEANING_FREE, 1);
	add(ledger, &(struct call){20, 21, {0x2000}, release, 1});
	add(ledger, &(struct call){22, 23, {0x4000}, release, 2});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK_DEVICE(ledger, "device", 0, "*", 1, 0, 100, 100);
	CHECK_DEVICE(ledger, "device", 1, "*", 2, 1, 7, 57);
	CHECK_DEVICE(ledger, "device", 1, library_names[0], 1, 1, 0, 50);
	CHECK_DEVICE(ledger, "device", 1, library_names[1], 1, 0, 7, 7);
	CHECK_DEVICE(ledger, "managed", 1, "*", 1, 1, 0, 30);
	assert_int_equal(hk_ledger_unknown_frees(ledger), 0);
	hk_ledger_free(ledger);
}

static void test_pinned_heap_is_both(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	uint32_t pin = DEVICE_SITE(HK_MEMORY_PINNED, HK_MEANING_ALLOC, 1);
	add(ledger, &(struct call){10, 11, {100, 0x1000}, SITE(HK_MEANING_ALLOC, 0), 1});
	/* The device of pinned memory is the host, whatever the record says. */
	add(ledger, &(struct call){12, 13, {64, 0x1000, 3}, pin, 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK_DEVICE(ledger, "heap", -1, "*", 1, 0, 100, 100);
	CHECK_DEVICE(ledger, "pinned", -1, library_names[1], 1, 0, 64, 64);
	add(ledger, &(struct call){14, 15, {0x1000}, SITE(HK_MEANING_FREE, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK_DEVICE(ledger, "heap", -1, "*", 1, 1, 0, 100);
	CHECK_DEVICE(ledger, "pinned", -1, "*", 1, 0, 64, 64);
	add(ledger,
	    &(struct call){16, 17, {0x1000}, DEVICE_SITE(HK_MEMORY_PINNED, HK_MEANING_FREE, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK_DEVICE(ledger, "pinned", -1, "*", 1, 1, 0, 64);
	hk_ledger_free(ledger);
}

/* A hostile process cannot have a row for every number. */
static void test_absurd_devices_share_a_row(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	uint32_t alloc = DEVICE_SITE(HK_MEMORY_DEVICE, HK_MEANING_ALLOC, 0);
	size_t rows = 0;
	for (uint64_t i = 0; i < 100000; i++) {
		add(ledger,
		    &(struct call){10 + i, 10 + i, {1, 16 * (i + 1), i << 32 | i}, alloc, 1});
	}
	add(ledger, &(struct call){1, 2, {1, 8, UINT64_MAX}, alloc, 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK_DEVICE(ledger, "device", -1, "*", 100000, 0, 100000, 100000);
	CHECK_DEVICE(ledger, "device", 0, library_names[0], 1, 0, 1, 1);
	for (struct hk_ledger_row row; hk_ledger_row(ledger, rows, &row) > 0; rows++) {
	}
	assert_int_equal(rows, 4);
	hk_ledger_free(ledger);
}

static void test_ledger_free_counts_for_the_library_that_allocated(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	add(ledger, &(struct call){10, 20, {100, 0x1000}, SITE(HK_MEANING_ALLOC, 0), 1});
	add(ledger, &(struct call){30, 40, {0x1000}, SITE(HK_MEANING_FREE, 1), 2});
	add(ledger, &(struct call){50, 60, {7, 0x1000}, SITE(HK_MEANING_ALLOC, 1), 2});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK(ledger, "heap", "*", 2, 1, 7, 100);
	CHECK(ledger, "heap", library_names[0], 1, 1, 0, 100);
	CHECK(ledger, "heap", library_names[1], 1, 0, 7, 7);
	assert_int_equal(row_of(ledger, "heap", "*").peak_ticks, 20);
	hk_ledger_free(ledger);
}

static void test_ledger_holds_back_what_an_open_free_may_precede(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	add(ledger, &(struct call){10, 20, {100, 0x1000}, SITE(HK_MEANING_ALLOC, 0), 1});
	/* Thread 1 is inside free(0x1000) since 30; thread 2 got the same address at 50. */
	add(ledger, &(struct call){40, 50, {60, 0x1000}, SITE(HK_MEANING_ALLOC, 0), 2});
	hk_ledger_advance(ledger, 30);
	CHECK(ledger, "heap", "*", 1, 0, 100, 100);
	add(ledger, &(struct call){30, 90, {0x1000}, SITE(HK_MEANING_FREE, 0), 1});
	hk_ledger_advance(ledger, 1000);
	CHECK(ledger, "heap", "*", 2, 1, 60, 100);
	hk_ledger_free(ledger);
}

static void test_ledger_realloc(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	const uint32_t site = SITE(HK_MEANING_REALLOC, 0);
	add(ledger, &(struct call){1, 2, {0, 0x1000, 10}, site, 1});	     /* realloc(NULL, 10) */
	add(ledger, &(struct call){3, 4, {0x1000, 0x1000, 30}, site, 1});    /* in place */
	add(ledger, &(struct call){5, 6, {0x1000, 0x2000, 50}, site, 1});    /* moved */
	add(ledger, &(struct call){7, 8, {0x2000, 0, 1ull << 60}, site, 1}); /* failed: stays */
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK(ledger, "heap", "*", 3, 2, 50, 50);
	add(ledger, &(struct call){9, 10, {0x2000, 0, 0}, site, 1}); /* realloc(p, 0) */
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK(ledger, "heap", "*", 3, 3, 0, 50);
	hk_ledger_free(ledger);
}

static void test_ledger_wrapper_around_an_allocator_counts_once(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	add(ledger, &(struct call){12, 18, {100, 0x1000}, SITE(HK_MEANING_ALLOC, 1), 1});
	add(ledger, &(struct call){10, 20, {100, 0x1000}, SITE(HK_MEANING_ALLOC, 0), 1});
	add(ledger, &(struct call){32, 38, {0x1000}, SITE(HK_MEANING_FREE, 1), 1});
	add(ledger, &(struct call){30, 40, {0x1000}, SITE(HK_MEANING_FREE, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK(ledger, "heap", "*", 1, 1, 0, 100);
	CHECK(ledger, "heap", library_names[0], 1, 1, 0, 100);
	hk_ledger_free(ledger);
}

static void test_ledger_failed_and_unknown_calls_change_nothing(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	add(ledger, &(struct call){1, 2, {100, 0}, SITE(HK_MEANING_ALLOC, 0), 1});
	add(ledger, &(struct call){3, 4, {0}, SITE(HK_MEANING_FREE, 0), 1}); /* free(NULL) */
	add(ledger, &(struct call){5, 6, {UINT64_MAX, 4096}, SITE(HK_MEANING_MAP, 0), 1});
	add(ledger, &(struct call){7, 8, {0x9000}, SITE(HK_MEANING_FREE, 0), 1}); /* not ours */
	add(ledger, &(struct call){9, 10, {1, 2}, SITE(HK_MEANING_SEND, 0), 1});
	add(ledger, &(struct call){9, 10, {1, 2}, SITE(200, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	struct hk_ledger_row row;
	assert_int_equal(hk_ledger_row(ledger, 0, &row), 0);
	assert_int_equal(hk_ledger_unknown_frees(ledger), 1);
	hk_ledger_free(ledger);
}

static void test_ledger_loss_makes_the_peak_a_range(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	add(ledger, &(struct call){1, 2, {100, 0x1000}, SITE(HK_MEANING_ALLOC, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	hk_ledger_set_lost(ledger, 3);
	add(ledger, &(struct call){3, 4, {50, 0x2000}, SITE(HK_MEANING_ALLOC, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	struct hk_ledger_row row = row_of(ledger, "heap", "*");
	assert_int_equal(row.peak_bytes, 150);
	assert_int_equal(row.peak_low, 100);
	assert_int_equal(row.peak_high, 150 + 3 * 100);
	hk_ledger_free(ledger);
}

static void test_ledger_mappings_split_move_and_overlay(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	const uint32_t map = SITE(HK_MEANING_MAP, 0), unmap = SITE(HK_MEANING_UNMAP, 1);
	add(ledger, &(struct call){1, 2, {0x10000, 0x8000}, map, 1});
	add(ledger, &(struct call){3, 4, {0x12000, 0x1001}, unmap, 1}); /* 2 pages: splits */
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK(ledger, "map", "*", 1, 1, 0x6000, 0x8000);
	/* The upper half moves away and grows. */
	add(ledger,
	    &(struct call){5, 6, {0x14000, 0x4000, 0x30000, 0x6000}, SITE(HK_MEANING_REMAP, 1), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK(ledger, "map", library_names[0], 1, 2, 0x2000, 0x8000);
	CHECK(ledger, "map", library_names[1], 1, 0, 0x6000, 0x6000);
	/* MAP_FIXED over both. */
	add(ledger, &(struct call){7, 8, {0x10000, 0x30000}, map, 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK(ledger, "map", "*", 3, 2, 0x30000, 0x30000);
	CHECK(ledger, "map", library_names[1], 1, 0, 0, 0x6000);
	hk_ledger_free(ledger);
}

static void test_what_was_live_at_the_peak(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	const char *a = library_names[0], *b = library_names[1];
	add(ledger, &(struct call){10, 11, {100, 0x1000}, SITE(HK_MEANING_ALLOC, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	/* The peak is now; a library that comes later had nothing. */
	assert_int_equal(row_of(ledger, "heap", "*").at_peak_bytes, 100);
	assert_int_equal(row_of(ledger, "heap", a).at_peak_bytes, 100);
	add(ledger, &(struct call){12, 13, {0x1000}, SITE(HK_MEANING_FREE, 0), 1});
	add(ledger, &(struct call){14, 15, {100, 0x2000}, SITE(HK_MEANING_ALLOC, 1), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	/* As high again is no new peak. */
	assert_int_equal(row_of(ledger, "heap", "*").at_peak_bytes, 100);
	assert_int_equal(row_of(ledger, "heap", a).at_peak_bytes, 100);
	assert_int_equal(row_of(ledger, "heap", b).at_peak_bytes, 0);
	add(ledger, &(struct call){16, 17, {1, 0x3000}, SITE(HK_MEANING_ALLOC, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	assert_int_equal(row_of(ledger, "heap", "*").at_peak_bytes, 101);
	assert_int_equal(row_of(ledger, "heap", a).at_peak_bytes, 1);
	assert_int_equal(row_of(ledger, "heap", b).at_peak_bytes, 100);
	hk_ledger_free(ledger);
}

/* Times far apart, and earlier than the last: the series has its bins, whatever they are. */
static void test_series_takes_any_time(void **state)
{
	(void)state;
	struct hk_series series = {0};
	hk_series_add(&series, 1000, 5);
	hk_series_add(&series, 10, 9);
	assert_int_equal(series.count, 1);
	assert_int_equal(series.max_bytes[0], 9);
	hk_series_add(&series, 1000 + (300ull << HK_SERIES_SHIFT_MIN), 2);
	assert_int_equal(series.shift, HK_SERIES_SHIFT_MIN + 1);
	assert_int_equal(series.count, 151);
	assert_int_equal(series.max_bytes[150], 9);
	assert_int_equal(series.last_bytes[149], 9);
	assert_int_equal(series.last_bytes[150], 2);
	hk_series_add(&series, UINT64_MAX, 1);
	assert_int_equal(series.shift, HK_SERIES_SHIFT_MAX);
	assert_int_equal(series.count, 256);
	assert_int_equal(series.max_bytes[0], 9);
	assert_int_equal(series.last_bytes[0], 2);
	assert_int_equal(series.max_bytes[254], 2);
	assert_int_equal(series.last_bytes[255], 1);
}

/* Bounded, whatever devices a process claims to have. */
static void test_few_series(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	uint32_t alloc = DEVICE_SITE(HK_MEMORY_DEVICE, HK_MEANING_ALLOC, 0);
	size_t series = 0;
	for (uint64_t i = 0; i < 1000; i++) {
		add(ledger, &(struct call){10 + i, 10 + i, {1, 16 * (i + 1), i}, alloc, 1});
	}
	hk_ledger_advance(ledger, UINT64_MAX);
	struct hk_ledger_row row;
	for (size_t i = 0; hk_ledger_row(ledger, i, &row) > 0; i++) {
		series += row.series != NULL;
	}
	assert_int_equal(series, 64);
	hk_ledger_free(ledger);
}

static void test_ledger_survives_hostile_records(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	uint64_t seed = 99;
	for (int i = 0; i < 200000; i++) {
		struct call call = {0};
		uint64_t draw[6];
		for (int j = 0; j < 6; j++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			draw[j] = seed >> (seed >> 59);
		}
		memcpy(call.words, draw, sizeof(call.words));
		call.start = draw[4];
		call.end = call.start + draw[5];
		call.site = (uint32_t)(draw[0] % SITE(9, 0));
		call.thread = (uint32_t)draw[1];
		add(ledger, &call);
		if (i % 1000 == 0) {
			hk_ledger_advance(ledger, draw[4]);
		}
	}
	hk_ledger_advance(ledger, UINT64_MAX);
	hk_ledger_free(ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_device_has_its_rows),
	    cmocka_unit_test(test_pinned_heap_is_both),
	    cmocka_unit_test(test_absurd_devices_share_a_row),
	    cmocka_unit_test(test_ledger_free_counts_for_the_library_that_allocated),
	    cmocka_unit_test(test_ledger_holds_back_what_an_open_free_may_precede),
	    cmocka_unit_test(test_ledger_realloc),
	    cmocka_unit_test(test_ledger_wrapper_around_an_allocator_counts_once),
	    cmocka_unit_test(test_ledger_failed_and_unknown_calls_change_nothing),
	    cmocka_unit_test(test_ledger_loss_makes_the_peak_a_range),
	    cmocka_unit_test(test_ledger_mappings_split_move_and_overlay),
	    cmocka_unit_test(test_what_was_live_at_the_peak),
	    cmocka_unit_test(test_series_takes_any_time),
	    cmocka_unit_test(test_few_series),
	    cmocka_unit_test(test_ledger_survives_hostile_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
