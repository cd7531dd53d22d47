/* Conditions of --fail-on against changes whose intervals are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "cli/diff/threshold.h"

#define UNDECIDED_BYTES 256

/* A job of one function, whose 99th percentile went from 2 ms to 3 ms with an interval of LOW to
 * HIGH, and of one peak that is unknown in both. */
struct pair {
	struct hk_compare compare;
	struct hk_compare_row row;
};

static void pair_init(struct pair *pair, double low, double high)
{
	*pair = (struct pair){.row = {.role = "main", .domain = "mpi", .function = "MPI_Send"}};
	for (size_t i = 0; i < HK_COMPARE_FIGURES; i++) {
		pair->row.figure[i] = (struct hk_compared){NAN, NAN, {NAN, NAN, NAN}};
	}
	pair->row.figure[HK_COMPARE_P99] = (struct hk_compared){2e6, 3e6, {0.5, low, high}};
	pair->compare = (struct hk_compare){.rows = &pair->row, .row_count = 1};
	pair->compare.wall = (struct hk_compared){1e9, 2e9, {1, NAN, NAN}};
}

static void nothing(void *context, const struct hk_exceeded *found)
{
	(void)context;
	(void)found;
}

static void append(void *context, const struct hk_undecided *found)
{
	char *text = context;
	size_t used = strlen(text);

	snprintf(text + used, UNDECIDED_BYTES - used, "%s %s;", found->condition,
		 strstr(found->why, "enough") ? "few" : "none");
}

/* How many exceed LIST; UNDECIDED: those conditions that cannot be judged. */
static size_t check(const struct pair *pair, const char *list, char *undecided)
{
	char why[HK_THRESHOLD_WHY_BYTES];
	struct hk_thresholds *thresholds = hk_thresholds_new(list, why);

	assert_non_null(thresholds);
	*undecided = '\0';
	hk_thresholds_undecided(thresholds, &pair->compare, append, undecided);
	size_t count = hk_thresholds_check(thresholds, &pair->compare, nothing, NULL);
	hk_thresholds_free(thresholds);
	return count;
}

static void test_what_is_sure_either_way_is_judged(void **state)
{
	struct pair pair;
	char undecided[UNDECIDED_BYTES];
	(void)state;
	pair_init(&pair, 0.3, 0.7);
	assert_int_equal(check(&pair, "p99>10%, p99>500us, p99!=0", undecided), 3);
	assert_string_equal(undecided, "");
	assert_int_equal(check(&pair, "p99>90%, p99<-1%, p99>2ms, wall>200%", undecided), 0);
	assert_string_equal(undecided, "");
	assert_int_equal(check(&pair, "p99>50%, p99!=50%, p99<50%", undecided), 0);
	assert_string_equal(undecided, "p99>50% few;p99!=50% few;p99<50% few;");
}

static void test_what_was_not_measured_cannot_be_judged(void **state)
{
	struct pair pair;
	char undecided[UNDECIDED_BYTES];
	(void)state;
	pair_init(&pair, 0.3, 0.7);
	assert_int_equal(check(&pair, "p50>10%, peak>1M, p99>10%", undecided), 1);
	assert_string_equal(undecided, "p50>10% none;peak>1M none;");
}

/* Too few calls for an end of the interval: no difference is that large for sure. */
static void test_an_end_that_is_not_known_is_no_difference(void **state)
{
	struct pair pair;
	char undecided[UNDECIDED_BYTES];
	(void)state;
	pair_init(&pair, -1, (double)INFINITY);
	assert_int_equal(check(&pair, "p99>10%, p99<1s, p99<400%, p99>0", undecided), 0);
	assert_string_equal(undecided, "p99>10% few;p99<1s few;p99<400% few;p99>0 few;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_sure_either_way_is_judged),
	    cmocka_unit_test(test_what_was_not_measured_cannot_be_judged),
	    cmocka_unit_test(test_an_end_that_is_not_known_is_no_difference),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
