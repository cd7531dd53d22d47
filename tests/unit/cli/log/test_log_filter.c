/* Expressions against calls for which the answer is known, and what is no expression. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/log/log_filter.h"

static const struct hk_export_process process = {.rank = 3};
static const struct hk_export_thread thread = {.process = &process, .show_tid = 4711};
static const struct hk_export_site site = {
    .function = "MPI_Send", .library = "/opt/lib/liblmp.so.0", .domain = "mpi"};

static bool passes(const char *expression, uint64_t ns, bool failed, bool unwound)
{
	const struct hk_slice slice = {.start_ns = 1000,
				       .end_ns = 1000 + ns,
				       .site = &site,
				       .failed = failed,
				       .unwound = unwound};
	char why[HK_LOG_WHY_BYTES];
	struct hk_log_filter *filter = hk_log_filter_new(expression, why);

	assert_non_null(filter);
	assert_string_equal(why, "");
	bool pass = hk_log_filter_pass(filter, &thread, &slice);
	hk_log_filter_free(filter);
	return pass;
}

static void test_terms(void **state)
{
	static const struct {
		const char *expression;
		bool pass;
	} cases[] = {
	    {"function=MPI_Send", true},
	    {"function = MPI_*", true},
	    {"function=MPI_Recv", false},
	    {"function!=MPI_Recv", true},
	    {"library=liblmp.so", true},
	    {"library=/opt/*", true},
	    {"library=liblm", false},
	    {"domain=mpi", true},
	    {"domain!=mpi", false},
	    {"rank=3", true},
	    {"rank>=4", false},
	    {"rank<4", true},
	    {"thread=4711", true},
	    {"duration>1ms", true},
	    {"duration<=1999us", false},
	    {"duration=2ms", true},
	    {"duration>0.001s", true},
	    {"error", false},
	    {"not error", true},
	    {"unwound", false},
	    {"function=\"MPI_*\"", true},
	    {"function='MPI Send'", false},
	    {"function=MPI_* and duration>1ms and error", false},
	    {"function=MPI_* and duration>1ms and not error", true},
	    {"rank=0 or rank=3", true},
	    /* `and` binds tighter */
	    {"rank=3 or rank=0 and error", true},
	    {"(rank=3 or rank=0) and error", false},
	    {"error and rank=3 or rank=3", true},
	    {"!(error||unwound)&&rank==3", true},
	    {"not not rank=3", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (passes(cases[i].expression, 2000000, false, false) != cases[i].pass) {
			fail_msg("%s", cases[i].expression);
		}
	}
	assert_true(passes("error", 1, true, false));
	assert_true(passes("unwound", 1, false, true));
	assert_true(hk_log_filter_pass(NULL, &thread, &(struct hk_slice){.site = &site}));
}

static void test_nonsense_is_refused(void **state)
{
	static const char *const bad[] = {
	    "",
	    "functon=a",
	    "function",
	    "function=",
	    "function>a",
	    "rank=x",
	    "duration>x",
	    "duration>5",
	    "error error",
	    "(error",
	    "error)",
	    "and",
	    "not",
	    "rank=1 and",
	    "rank=99999999999999999999",
	    "function='a",
	    "errors",
	};
	char why[HK_LOG_WHY_BYTES], many[4096] = "error", deep[200];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(hk_log_filter_new(bad[i], why));
		assert_true(strlen(why) > 0);
	}
	for (unsigned i = 0; i < 100; i++) {
		strcat(many, " or error");
	}
	assert_null(hk_log_filter_new(many, why));
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_null(hk_log_filter_new(deep, why));
}

static void test_it_says_where_the_nonsense_is(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
	    {"duration>1zz and error", "duration needs a unit, such as 5us, 5ms or 5s, at '1zz'"},
	    {"rank=x", "a number expected at 'x'"},
	    {"rank= ", "value expected at the end"},
	    {"function > a", "= or != expected at '> a'"},
	    {"error)", "'and' or 'or' expected at ')'"},
	};
	char why[HK_LOG_WHY_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(hk_log_filter_new(bad[i].text, why));
		assert_string_equal(why, bad[i].why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_terms),
	    cmocka_unit_test(test_nonsense_is_refused),
	    cmocka_unit_test(test_it_says_where_the_nonsense_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
