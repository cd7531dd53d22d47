/* How sums grew over time: nothing is lost or moved by more than a bin over any length of time, and
 * a collector continues where its predecessor ended. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/process/course.h"

#define START 1000u
#define SHIFT 4u
#define DOMAIN HK__ACTIVITY_KIND__ACTIVITY_DOMAIN
#define CALLS HK__ACTIVITY_KIND__ACTIVITY_CALLS

static uint64_t sum_of(const struct hk_course_row *row)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < HK_COURSE_BINS; i++) {
		sum += row->bins[i];
	}
	return sum;
}

static void look(struct hk_course *course, uint64_t total, uint64_t now)
{
	struct hk_course_row *row = hk_course_row(course, DOMAIN, "mpi");
	hk_course_reach(course, now);
	hk_course_add(course, row, total, now, now);
	hk_course_end(course, now);
}

static void test_what_grew_lies_where_it_grew(void **state)
{
	struct hk_course course;
	(void)state;
	hk_course_begin(&course, START, SHIFT);
	look(&course, 100, START + 8);	 /* half of the first bin */
	look(&course, 180, START + 24);	 /* its other half, and half of the second */
	look(&course, 180, START + 160); /* nothing */
	look(&course, 1, START + 176);	 /* less than before is nothing too */
	const struct hk_course_row *row = hk_course_find(&course, DOMAIN, "mpi");
	assert_int_equal(course.count, 11);
	assert_int_equal(row->bins[0], 140);
	assert_int_equal(row->bins[1], 40);
	assert_int_equal(sum_of(row), 180);
	hk_course_fini(&course);
}

static void test_what_began_before_the_last_look_is_spread_from_there(void **state)
{
	struct hk_course course;
	(void)state;
	hk_course_begin(&course, START, SHIFT);
	look(&course, 0, START + 96);
	struct hk_course_row *row = hk_course_row(&course, CALLS, "");
	hk_course_reach(&course, START + 128);
	hk_course_add(&course, row, 80, START + 48, START + 128);
	assert_int_equal(row->bins[2], 0);
	for (uint32_t i = 3; i < 8; i++) {
		assert_int_equal(row->bins[i], 16);
	}
	hk_course_fini(&course);
}

/* A uniform job of a length that no bin was made for: the bins are uniform. */
static void test_a_uniform_job_is_uniform_however_long(void **state)
{
	struct hk_course course;
	uint64_t now = START, total = 0;
	(void)state;
	hk_course_begin(&course, START, SHIFT);
	for (uint32_t i = 0; i < 100000; i++) {
		now += 7 + i % 5;
		total += 3 * (7 + i % 5);
		look(&course, total, now);
	}
	const struct hk_course_row *row = hk_course_find(&course, DOMAIN, "mpi");
	uint64_t width = UINT64_C(1) << course.shift;
	assert_in_range(course.count, HK_COURSE_BINS / 2, HK_COURSE_BINS);
	for (uint32_t i = 0; i + 1 < course.count; i++) {
		assert_in_range(row->bins[i], 3 * width - 3, 3 * width + 3);
	}
	assert_int_equal(sum_of(row), total);
	hk_course_fini(&course);
}

static void test_a_later_collector_goes_on(void **state)
{
	struct hk_course course, next;
	Hk__Process *message = calloc(1, sizeof(*message));
	(void)state;
	hk__process__init(message);
	hk_course_begin(&course, START, SHIFT);
	look(&course, 5000, START + 1000);
	assert_int_equal(hk_course_write(&course, message), 0);
	assert_int_equal(message->n_activity, (course.count + 15) / 16);
	assert_int_equal(hk_course_recover(&next, message, START + 1000), 0);
	look(&course, 9000, START + 9000);
	look(&next, 9000, START + 9000);
	const struct hk_course_row *here = hk_course_find(&course, DOMAIN, "mpi");
	const struct hk_course_row *there = hk_course_find(&next, DOMAIN, "mpi");
	assert_int_equal(course.shift, next.shift);
	assert_memory_equal(here->bins, there->bins, sizeof(here->bins));
	hk_course_fini(&course);
	hk_course_fini(&next);

	message->activity[0]->shift = 70;
	assert_int_equal(hk_course_recover(&next, message, START + 1000), -ENOENT);
	hk__process__free_unpacked(message, NULL);
}

static void test_domains_beyond_the_last_are_others(void **state)
{
	struct hk_course course;
	char name[] = "a";
	(void)state;
	hk_course_begin(&course, START, SHIFT);
	for (; name[0] < 'a' + 20; name[0]++) {
		assert_non_null(hk_course_row(&course, DOMAIN, name));
	}
	assert_int_equal(course.row_count, HK_COURSE_DOMAINS);
	assert_non_null(hk_course_find(&course, DOMAIN, "other"));
	assert_non_null(hk_course_row(&course, CALLS, ""));
	hk_course_fini(&course);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_grew_lies_where_it_grew),
	    cmocka_unit_test(test_what_began_before_the_last_look_is_spread_from_there),
	    cmocka_unit_test(test_a_uniform_job_is_uniform_however_long),
	    cmocka_unit_test(test_a_later_collector_goes_on),
	    cmocka_unit_test(test_domains_beyond_the_last_are_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
