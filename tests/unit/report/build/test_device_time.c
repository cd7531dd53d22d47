/* Why device time is missing, for every state that a process may report, or a hostile one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/build/device_time.h"
#include "ring/segment.h"

static const char *note_of(Hk__DeviceTime *time, struct hk_report_process *row)
{
	static char text[2048];
	Hk__Process process = HK__PROCESS__INIT;
	FILE *notes = fmemopen(text, sizeof(text), "w");

	assert_non_null(notes);
	text[0] = '\0';
	*row = (struct hk_report_process){0};
	process.device_time = time;
	hk_device_time_fill(&process, row);
	hk_device_time_note(notes, &row->device_time);
	fclose(notes);
	return text;
}

static void test_nothing_is_said_of_what_was_not_wanted(void **state)
{
	Hk__DeviceTime time = HK__DEVICE_TIME__INIT;
	struct hk_report_process row;

	(void)state;
	assert_string_equal(note_of(NULL, &row), "");
	assert_false(row.device_time.known);
	assert_string_equal(note_of(&time, &row), "");
	time.state = HK_DEVICE_ON;
	time.activities = 7;
	assert_string_equal(note_of(&time, &row), "");
	assert_true(row.device_time.known);
	assert_string_equal(row.device_time.state, "on");
	assert_string_equal(row.device_time.library, "CUPTI");
}

static void test_every_reason_has_its_words(void **state)
{
	Hk__DeviceTime time = HK__DEVICE_TIME__INIT;
	struct hk_report_process row;

	(void)state;
	for (uint32_t at = HK_DEVICE_YIELDED; at <= HK_DEVICE_PARENT; at++) {
		time.state = at;
		assert_non_null(strstr(note_of(&time, &row), "device time off: "));
		assert_string_not_equal(row.device_time.state, "unknown");
	}
	time.state = HK_DEVICE_NO_RIGHT;
	time.version = 130001;
	time.status = 35;
	assert_non_null(strstr(note_of(&time, &row), "[CUPTI 130001: 35]"));
	time.state = 4000000000u;
	assert_non_null(strstr(note_of(&time, &row), "unknown to this version"));
	assert_string_equal(row.device_time.state, "unknown");
}

static void test_what_is_missing_is_counted(void **state)
{
	Hk__DeviceTime time = HK__DEVICE_TIME__INIT;
	struct hk_report_process row;

	(void)state;
	time.state = HK_DEVICE_SHARED;
	time.library = 2;
	time.dropped = 3;
	time.unlinked = 4;
	time.yields = 1;
	assert_string_equal(note_of(&time, &row),
			    "device time: 3 records dropped for lack of buffers; device time: 4 "
			    "activities without the call that submitted them; device time: 1 times "
			    "another tool took over");
	assert_string_equal(row.device_time.library, "MSPTI");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing_is_said_of_what_was_not_wanted),
	    cmocka_unit_test(test_every_reason_has_its_words),
	    cmocka_unit_test(test_what_is_missing_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
