/* The list of findings as text: its lines fit, and what it says where there is nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/findings/progress/hang.h"
#include "report/write/findings_write.h"

static struct hk_report report = {.job = {.id = "job", .exit = "exit 0", .duration_ns = 1}};

/* FINDINGS as text of COLUMNS; frees them. */
static char *text_of(struct hk_findings *findings, unsigned columns)
{
	const struct hk_report_style style = {.columns = columns};
	char *text = NULL;
	size_t size = 0;
	FILE *output = open_memstream(&text, &size);

	assert_int_equal(hk_findings_write_text(findings, &report, &style, output), 0);
	fclose(output);
	hk_findings_fini(findings);
	return text;
}

static size_t widest(const char *text)
{
	size_t most = 0;

	while (*text) {
		size_t bytes = strcspn(text, "\n"), columns = 0;
		for (size_t i = 0; i < bytes; i++) {
			columns += ((unsigned char)text[i] & 0xc0) != 0x80;
		}
		most = columns > most ? columns : most;
		text += bytes + (text[bytes] == '\n');
	}
	return most;
}

static void fill(struct hk_findings *findings)
{
	static const char words[] =
	    "seven times seven \302\265s are forty-nine and then seven times "
	    "seven \302\265s are forty-nine again, which is what it takes";

	hk_findings_begin(findings, "a-job-with-a-name");
	hk_finding_add(findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING, "%s; %s", words, words);
	hk_finding_classify(findings, "late-rank", HK_CONFIDENCE_MEDIUM, 123456789012.0);
	hk_finding_evidence(findings, "%s", words);
	hk_finding_advise(findings, "hookcli report --by stack; %s", words);
	findings->list[0].stack = strdup("one_function\nanother_function\na_third_function\nmain\n"
					 "__libc_start_main\n_start\n");
	hk_finding_add(findings, HK_TOPIC_COST, HK_WEIGHT_FACT, "%s", words);
}

static void test_lines_are_as_wide_as_is_asked_and_no_wider(void **state)
{
	static const struct {
		unsigned asked, most;
	} widths[] = {{0, 100}, {40, 60}, {60, 60}, {72, 72}, {200, 200}};
	(void)state;
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		struct hk_findings findings;
		fill(&findings);
		char *text = text_of(&findings, widths[i].asked);
		assert_in_range(widest(text), widths[i].most - 20, widths[i].most);
		free(text);
	}
}

static void test_a_job_that_has_just_stopped_is_not_called_fine(void **state)
{
	(void)state;
	for (int stopped = 0; stopped < 2; stopped++) {
		struct hk_findings findings;
		hk_findings_begin(&findings, "job");
		hk_finding_add(&findings, HK_TOPIC_TIME, HK_WEIGHT_FACT, "a fact");
		hk_finding_advise(&findings, "look at it");
		if (stopped) {
			hk_finding_add(&findings, HK_TOPIC_TIME, HK_WEIGHT_FACT, "3 ranks stopped");
			hk_finding_classify(&findings, HK_NO_PROGRESS, HK_CONFIDENCE_LOW, 0);
		}
		char *text = text_of(&findings, 0);
		assert_int_equal(strstr(text, "Nothing stands out.\n") == NULL, stopped);
		assert_int_equal(strstr(text, "3 ranks stopped\n\nWhat there is:") != NULL,
				 stopped);
		assert_non_null(strstr(text, "  - a fact\n     next: look at it\n"));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lines_are_as_wide_as_is_asked_and_no_wider),
	    cmocka_unit_test(test_a_job_that_has_just_stopped_is_not_called_fine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
