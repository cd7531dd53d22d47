/* What a device did, and the call that asked for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/export/activity.h"
#include "hooks/hook.h"

#define NOW 1000000u
#define PID 10u
#define STREAM 0xabcu

static const struct hk_export_site site = {
    .meaning = HK_MEANING_DEVICE_COPY,
    .key_count = 6,
    .keys = {HK_KEY_DEVICE, HK_KEY_STREAM, HK_KEY_BYTES, HK_KEY_SUBMITTED, HK_KEY_BEGAN,
	     HK_KEY_DURATION},
};

static void test_values_are_taken_apart(void **state)
{
	struct hk_slice slice = {.start_ns = NOW,
				 .site = &site,
				 .word_count = 6,
				 .words = {1, STREAM, 4096, 900, 700, 300}};
	struct hk_device_activity activity;

	(void)state;
	assert_true(hk_activity_read(&slice, &activity));
	assert_int_equal(activity.device, 1);
	assert_int_equal(activity.stream, STREAM);
	assert_int_equal(activity.bytes, 4096);
	assert_int_equal(activity.submitted_ns, NOW - 900);
	assert_int_equal(activity.start_ns, NOW - 700);
	assert_int_equal(activity.end_ns, NOW - 400);
	slice.words[3] = 0; /* not known */
	slice.words[5] = UINT64_MAX;
	assert_true(hk_activity_read(&slice, &activity));
	assert_int_equal(activity.submitted_ns, 0);
	assert_int_equal(activity.end_ns, NOW); /* it was told after its end */
	slice.words[4] = UINT64_MAX;
	assert_true(hk_activity_read(&slice, &activity));
	assert_int_equal(activity.start_ns, 0);
	slice.word_count = 5;
	assert_false(hk_activity_read(&slice, &activity));
}

static void test_a_mark_is_no_activity(void **state)
{
	struct hk_export_site mark = site;
	const struct hk_slice slice = {.site = &mark, .word_count = 6};
	struct hk_device_activity activity;

	(void)state;
	mark.meaning = HK_MEANING_MARK;
	assert_false(hk_activity_read(&slice, &activity));
}

static void add(struct hk_launches *launches, uint64_t start_ns, uint64_t end_ns, uint64_t stream,
		uint32_t tid)
{
	const struct hk_launch launch = {.start_ns = start_ns,
					 .end_ns = end_ns,
					 .stream = stream,
					 .any_stream = stream == 0,
					 .show_pid = PID,
					 .show_tid = tid,
					 .correlation = start_ns};

	assert_int_equal(hk_launches_add(launches, &launch), 0);
}

/* Its number, 0: there is none. */
static uint64_t find(const struct hk_launches *launches, uint64_t submitted_ns, uint64_t stream,
		     uint32_t pid, uint32_t tid)
{
	const struct hk_device_activity activity = {.submitted_ns = submitted_ns, .stream = stream};
	const struct hk_launch *launch = hk_launches_find(launches, &activity, pid, tid);

	return launch ? launch->correlation : 0;
}

static void test_the_call_that_asked(void **state)
{
	struct hk_launches launches = {0};

	(void)state;
	assert_int_equal(find(&launches, 5, STREAM, PID, 1), 0);
	add(&launches, 100, 200, STREAM, 1);
	add(&launches, 150, 180, STREAM + 1, 2);
	add(&launches, 160, 170, STREAM, 3);
	add(&launches, 300, 310, 0, 1);
	assert_int_equal(find(&launches, 99, STREAM, PID, 1), 0);
	assert_int_equal(find(&launches, 100, STREAM, PID, 1), 100);
	assert_int_equal(find(&launches, 200, STREAM, PID, 1), 100);
	assert_int_equal(find(&launches, 201, STREAM, PID, 1), 0);
	/* Of two that could have been it the thread's own, else the latest. */
	assert_int_equal(find(&launches, 165, STREAM, PID, 1), 100);
	assert_int_equal(find(&launches, 165, STREAM, PID, 3), 160);
	assert_int_equal(find(&launches, 165, STREAM, PID, 4), 160);
	assert_int_equal(find(&launches, 165, STREAM + 1, PID, 1), 150);
	assert_int_equal(find(&launches, 165, STREAM, PID + 1, 1), 0);
	assert_int_equal(find(&launches, 305, STREAM, PID, 1), 300);
	assert_int_equal(find(&launches, 0, STREAM, PID, 1), 0);
	hk_launches_fini(&launches);
}

static void test_a_known_thread_decides(void **state)
{
	const struct hk_launch first = {.start_ns = 100,
					.end_ns = 200,
					.stream = STREAM,
					.show_pid = PID,
					.show_tid = 1,
					.thread = 11,
					.correlation = 1};
	const struct hk_launch second = {.start_ns = 110,
					 .end_ns = 190,
					 .stream = STREAM,
					 .show_pid = PID,
					 .show_tid = 2,
					 .thread = 12,
					 .correlation = 2};
	struct hk_device_activity activity = {
	    .submitted_ns = 150, .stream = STREAM + 1, .thread = 11};
	struct hk_launches launches = {0};

	(void)state;
	assert_int_equal(hk_launches_add(&launches, &first), 0);
	assert_int_equal(hk_launches_add(&launches, &second), 0);
	assert_int_equal(hk_launches_find(&launches, &activity, PID, 2)->correlation, 1);
	activity.thread = 12;
	assert_int_equal(hk_launches_find(&launches, &activity, PID, 1)->correlation, 2);
	activity.thread = 13;
	assert_null(hk_launches_find(&launches, &activity, PID, 1));
	hk_launches_fini(&launches);
}

static void test_the_newest_are_remembered(void **state)
{
	struct hk_launches launches = {0};
	uint64_t count = HK_LAUNCHES_MAX + HK_LAUNCHES_MAX / 2;

	(void)state;
	for (uint64_t i = 1; i <= count; i++) {
		add(&launches, i * 10, i * 10 + 5, STREAM, 1);
	}
	for (uint64_t i = 1; i <= count; i++) {
		uint64_t wanted = i > count - HK_LAUNCHES_MAX ? i * 10 : 0;

		assert_int_equal(find(&launches, i * 10 + 3, STREAM, PID, 1), wanted);
	}
	hk_launches_fini(&launches);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_values_are_taken_apart),
	    cmocka_unit_test(test_a_mark_is_no_activity),
	    cmocka_unit_test(test_the_call_that_asked),
	    cmocka_unit_test(test_a_known_thread_decides),
	    cmocka_unit_test(test_the_newest_are_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
