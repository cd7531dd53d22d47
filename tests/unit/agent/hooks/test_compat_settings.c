/* The variables of HOOK_COMPAT=1. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/hooks/compat_settings.h"

static void read_settings(struct hk_compat_settings *settings, const char *const *variables)
{
	assert_int_equal(hk_compat_read((char *const *)variables, settings), 0);
}

static void test_variables_act_under_compat_only(void **state)
{
	static const char *const alone[] = {
	    "LOG_LEVEL=INFO",	   "LOG_SYNC_MODE=1", "HOOK_ENABLE_TRACE=malloc=2",
	    "TARGET_LIB_FILTER=x", "HOOK_COMPAT=0",   NULL};
	static struct hk_compat_settings settings;

	(void)state;
	read_settings(&settings, alone);
	assert_false(settings.on);
	assert_false(settings.sync);
	assert_false(settings.filtered);
	assert_int_equal(settings.trace_count, 0);
}

static void test_levels(void **state)
{
	static const struct {
		const char *value;
		uint8_t profile, trace, memory;
	} cases[] = {
	    {"LOG_LEVEL=INFO", HK_COMPAT_INFO, HK_COMPAT_INFO, HK_COMPAT_INFO},
	    {"LOG_LEVEL=PROFILE=INFO", HK_COMPAT_INFO, HK_COMPAT_WARN, HK_COMPAT_WARN},
	    {"LOG_LEVEL=ERROR,TRACE=INFO", HK_COMPAT_ERROR, HK_COMPAT_INFO, HK_COMPAT_ERROR},
	    {"LOG_LEVEL=LOUD", HK_COMPAT_WARN, HK_COMPAT_WARN, HK_COMPAT_WARN},
	    {"LOG_LEVEL=FATAL, MEMORY=INFO ,NONE=INFO", HK_COMPAT_FATAL, HK_COMPAT_FATAL,
	     HK_COMPAT_INFO},
	    {"X=", HK_COMPAT_WARN, HK_COMPAT_WARN, HK_COMPAT_WARN},
	};
	static struct hk_compat_settings settings;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *variables[] = {"HOOK_COMPAT=1", cases[i].value, NULL};
		read_settings(&settings, variables);
		assert_true(settings.on);
		assert_int_equal(settings.level[HK_COMPAT_PROFILE], cases[i].profile);
		assert_int_equal(settings.level[HK_COMPAT_TRACE], cases[i].trace);
		assert_int_equal(settings.level[HK_COMPAT_MEMORY], cases[i].memory);
	}
}

static void test_traces_and_filter(void **state)
{
	static const char *const variables[] = {
	    "HOOK_COMPAT=1", "HOOK_ENABLE_TRACE=xpu_malloc=0b10,a=0x3, b=1,bad,c=2z,=2,a=2",
	    "TARGET_LIB_FILTER=[", NULL};
	static struct hk_compat_settings settings;

	(void)state;
	assert_int_equal(hk_compat_read((char *const *)variables, &settings), -EINVAL);
	assert_false(settings.filtered);
	assert_int_equal(hk_compat_trace(&settings, "xpu_malloc"), 2);
	assert_int_equal(hk_compat_trace(&settings, "a"), 2);
	assert_int_equal(hk_compat_trace(&settings, "b"), 1);
	assert_int_equal(hk_compat_trace(&settings, "c"), 0);
	assert_int_equal(hk_compat_trace(&settings, "bad"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_variables_act_under_compat_only),
	    cmocka_unit_test(test_levels),
	    cmocka_unit_test(test_traces_and_filter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
