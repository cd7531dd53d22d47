/* The page of a report: what stands in it can end no element of it, whatever the names are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/html/escape.h"
#include "cli/html/html.h"
#include "report/build/build.h"
#include "report/model/report.h"

static char *escaped(const char *json)
{
	char *text = NULL;
	size_t size = 0;
	FILE *output = open_memstream(&text, &size);
	FILE *stream = hk_html_escape_open(output);

	assert_non_null(stream);
	fputs(json, stream);
	assert_int_equal(fclose(stream), 0);
	assert_int_equal(fclose(output), 0);
	return text;
}

static void test_no_element_ends_in_a_string(void **state)
{
	(void)state;
	char *text = escaped("{\"a\":\"</script><!--\",\"b\":\"<<x\"}<");
	assert_string_equal(
	    text, "{\"a\":\"\\u003c/script>\\u003c!--\",\"b\":\"\\u003c\\u003cx\"}\\u003c");
	free(text);
}

static void test_an_error_of_the_output_is_told(void **state)
{
	FILE *full = fopen("/dev/full", "w"), *stream;
	(void)state;
	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	stream = hk_html_escape_open(full);
	fputs("{}<", stream);
	assert_int_not_equal(fclose(stream), 0);
	fclose(full);
}

static size_t count_of(const char *text, const char *word)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) {
		count++;
	}
	return count;
}

/* A job of which nothing is known but a name: the smallest page there is, still a whole one. */
static void test_a_page_of_nothing_is_whole(void **state)
{
	struct hk_report *report;
	Hk__Snapshot snapshot = HK__SNAPSHOT__INIT;
	Hk__Job job = HK__JOB__INIT;
	char *text = NULL;
	size_t size = 0;
	FILE *output = open_memstream(&text, &size);
	(void)state;
	job.id = job.command = (char *)(uintptr_t) "</script><!--hk:data-->";
	snapshot.job = &job;
	assert_int_equal(hk_report_new(&snapshot, &report), 0);
	assert_int_equal(hk_html_write(report, NULL, NULL, output), 0);
	fclose(output);
	assert_int_equal(count_of(text, "<script"), 2);
	assert_int_equal(count_of(text, "</script>"), 2);
	assert_int_equal(count_of(text, "<!--hk:"), 0);
	assert_int_equal(count_of(text, "sourceMappingURL"), 0);
	assert_non_null(strstr(text, "\\u003c/script>\\u003c!--hk:data-->"));
	assert_string_equal(text + size - 8, "</html>\n");
	hk_report_free(report);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_no_element_ends_in_a_string),
	    cmocka_unit_test(test_an_error_of_the_output_is_told),
	    cmocka_unit_test(test_a_page_of_nothing_is_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
