/* The two text formats: which is chosen, and what they look like. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "collector/metrics/exposition.h"

static void test_openmetrics_is_for_who_asks_for_it(void **state)
{
	static const struct {
		const char *accept;
		enum hk_exposition_format format;
	} cases[] = {
	    {NULL, HK_EXPOSITION_TEXT},
	    {"", HK_EXPOSITION_TEXT},
	    {"*/*", HK_EXPOSITION_TEXT},
	    {"text/plain", HK_EXPOSITION_TEXT},
	    {"text/html, application/xhtml+xml", HK_EXPOSITION_TEXT},
	    {"application/openmetrics-text", HK_EXPOSITION_OPENMETRICS},
	    {"Application/OpenMetrics-Text ; Version=\"1.0.0\"", HK_EXPOSITION_OPENMETRICS},
	    /* as Prometheus 2.42 asks */
	    {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
	     "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	     HK_EXPOSITION_OPENMETRICS},
	    {"text/plain;version=0.0.4;q=1,*/*;q=0.1", HK_EXPOSITION_TEXT},
	    {"application/openmetrics-text;version=0.0.1", HK_EXPOSITION_TEXT},
	    {"application/openmetrics-text;q=0", HK_EXPOSITION_TEXT},
	    {"application/openmetrics-text;q=0.4,text/plain;q=0.5", HK_EXPOSITION_TEXT},
	    {"text/plain;q=0.5,application/openmetrics-text;q=0.5", HK_EXPOSITION_OPENMETRICS},
	    {"application/openmetrics-text;q=0.4,*/*;q=0.5", HK_EXPOSITION_TEXT},
	    {"application/openmetrics-text;q=0.4,text/plain;q=0.3,*/*;q=0.5",
	     HK_EXPOSITION_OPENMETRICS},
	    {"application/openmetrics-textual", HK_EXPOSITION_TEXT},
	    {";q=,;;,application/openmetrics-text;q=nonsense", HK_EXPOSITION_TEXT},
	    {",,,", HK_EXPOSITION_TEXT},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (hk_exposition_choose(cases[i].accept) != cases[i].format) {
			fail_msg("%s", cases[i].accept);
		}
	}
}

static void test_seconds_are_exact(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
	    {0, "0.0"},
	    {1, "0.000000001"},
	    {512, "0.000000512"},
	    {1000000000, "1.0"},
	    {1500000000, "1.5"},
	    {UINT64_C(17179869184), "17.179869184"},
	    {UINT64_MAX, "18446744073.709551615"},
	};
	char text[32];
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(hk_exposition_seconds(text, cases[i].ns), cases[i].text);
	}
}

/* A page of a counter with an odd label, and of an information. */
static char *page_of(enum hk_exposition_format format)
{
	char *text = NULL;
	size_t size;
	struct hk_exposition exposition = {.format = format};
	exposition.output = open_memstream(&text, &size);
	assert_non_null(exposition.output);
	hk_exposition_family(&exposition, "hook_x_seconds", HK_METRIC_COUNTER, HK_METRIC_SECONDS,
			     "Time.");
	hk_exposition_sample(&exposition, "hook_x_seconds", HK_METRIC_COUNTER, "");
	hk_exposition_label(&exposition, "none", "");
	hk_exposition_label(&exposition, "a", "q\"b\\s\nl{}");
	hk_exposition_label(&exposition, "b", "\xc3\xbc");
	hk_exposition_value(&exposition, HK_METRIC_SECONDS, 2500000000);
	hk_exposition_family(&exposition, "hook_y", HK_METRIC_INFO, HK_METRIC_NONE, "Who.");
	hk_exposition_sample(&exposition, "hook_y", HK_METRIC_INFO, "");
	hk_exposition_value(&exposition, HK_METRIC_NONE, 1);
	hk_exposition_end(&exposition);
	assert_int_equal(fclose(exposition.output), 0);
	return text;
}

#define SAMPLE "hook_x_seconds_total{a=\"q\\\"b\\\\s\\nl{}\",b=\"\xc3\xbc\"} 2.5\n"

static void test_text_names_families_as_their_samples(void **state)
{
	(void)state;
	char *page = page_of(HK_EXPOSITION_TEXT);
	assert_string_equal(page, "# HELP hook_x_seconds_total Time.\n"
				  "# TYPE hook_x_seconds_total counter\n" SAMPLE
				  "# HELP hook_y_info Who.\n"
				  "# TYPE hook_y_info gauge\n"
				  "hook_y_info 1\n");
	free(page);
}

static void test_openmetrics_has_units_and_an_end(void **state)
{
	(void)state;
	char *page = page_of(HK_EXPOSITION_OPENMETRICS);
	assert_string_equal(page, "# HELP hook_x_seconds Time.\n"
				  "# TYPE hook_x_seconds counter\n"
				  "# UNIT hook_x_seconds seconds\n" SAMPLE "# HELP hook_y Who.\n"
				  "# TYPE hook_y info\n"
				  "hook_y_info 1\n"
				  "# EOF\n");
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_openmetrics_is_for_who_asks_for_it),
	    cmocka_unit_test(test_seconds_are_exact),
	    cmocka_unit_test(test_text_names_families_as_their_samples),
	    cmocka_unit_test(test_openmetrics_has_units_and_an_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
