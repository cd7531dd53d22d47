/* Times and ranks as people type them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "cli/span.h"

static void test_times(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {
	    {"0", 0},	     {"1.5", 1500000000}, {"90s", 90000000000}, {"200ms", 200000000},
	    {"30us", 30000}, {"5ns", 5},	  {"2m", 120000000000}, {"1h", 3600000000000},
	    {".5ms", 500000}};
	static const char *const bad[] = {"",	 "-1",	"abc",	"1.5 s", "1x",	" 1",
					  "inf", "nan", "1e30", "+1",	 "1s2", "0x10"};
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(hk_span_time(good[i].text, &ns), 0);
		assert_true(ns == good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ns = 77;
		assert_int_equal(hk_span_time(bad[i], &ns), -EINVAL);
		assert_true(ns == 77);
	}
}

static void test_ranks(void **state)
{
	static const char *const bad[] = {"",	"a",   ",1", "1,",  "1,,2",	  "-1",
					  "3-", "4-2", "1 ", "0x1", "99999999999"};
	struct hk_span_ranks ranks[HK_SPAN_RANKS_MAX];

	(void)state;
	assert_int_equal(hk_span_ranks("0,4-7,9", ranks), 3);
	assert_int_equal(ranks[0].first, 0);
	assert_int_equal(ranks[0].last, 0);
	assert_int_equal(ranks[1].first, 4);
	assert_int_equal(ranks[1].last, 7);
	assert_int_equal(ranks[2].last, 9);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(hk_span_ranks(bad[i], ranks), -EINVAL);
	}
}

static void test_too_many_spans_are_refused(void **state)
{
	static struct hk_span_ranks ranks[HK_SPAN_RANKS_MAX];
	char text[HK_SPAN_RANKS_MAX * 2 + 2];
	size_t used = 0;

	(void)state;
	for (int i = 0; i < HK_SPAN_RANKS_MAX; i++) {
		text[used++] = '1';
		text[used++] = ',';
	}
	text[used - 1] = '\0';
	assert_int_equal(hk_span_ranks(text, ranks), HK_SPAN_RANKS_MAX);
	text[used - 1] = ',';
	text[used++] = '1';
	text[used] = '\0';
	assert_int_equal(hk_span_ranks(text, ranks), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_times),
	    cmocka_unit_test(test_ranks),
	    cmocka_unit_test(test_too_many_spans_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
