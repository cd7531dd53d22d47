/* Groups and their spread over the ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "report/build/build.h"
#include "report/build/group.h"
#include "snapshot_maker.h"

static void test_groups_sum_and_compare_ranks(void **state)
{
	struct maker maker;
	struct hk_report *report;
	struct hk_groups groups;
	(void)state;
	maker_init(&maker);
	for (int rank = 0; rank < 4; rank++) {
		struct maker_process *process =
		    maker_process(&maker, rank, HK__ROLE__ROLE_MAIN, 1000, 2000);
		Hk__Cell *a = maker_cell(process, "mpi", "MPI_Send", "a", HK_LEVEL_TIME);
		Hk__Cell *b = maker_cell(process, "mpi", "MPI_Send", "b", HK_LEVEL_TIME);
		maker_call(a, 100);
		maker_call(b, rank == 2 ? 700 : 100);
	}
	struct maker_process *helper = maker_process(&maker, 1, HK__ROLE__ROLE_HELPER, 1000, 2000);
	maker_call(maker_cell(helper, "mpi", "MPI_Send", "a", HK_LEVEL_TIME), 5);
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);

	assert_int_equal(hk_groups_init(&groups, report, HK_GROUP_FUNCTION), 0);
	assert_int_equal(groups.count, 2);
	assert_string_equal(groups.groups[0].role, "main");
	assert_int_equal(groups.groups[0].numbers.calls, 8);
	assert_int_equal(groups.groups[0].numbers.total_ns, 1400);
	assert_int_equal(groups.groups[0].numbers.max_ns, 700);
	assert_int_equal(groups.groups[0].max_rank, 2);
	assert_true(fabs(groups.groups[0].imbalance - 800.0 * 4 / 1400) < 1e-9);
	assert_string_equal(groups.groups[1].role, "helper");
	hk_groups_fini(&groups);

	assert_int_equal(hk_groups_init(&groups, report, HK_GROUP_FUNCTION | HK_GROUP_LIBRARY), 0);
	assert_int_equal(groups.count, 3);
	assert_string_equal(groups.groups[0].library, "b");
	assert_int_equal(groups.groups[0].numbers.total_ns, 1000);
	hk_groups_fini(&groups);

	assert_int_equal(hk_groups_init(&groups, report, HK_GROUP_RANK), 0);
	assert_int_equal(groups.count, 5);
	for (size_t i = 1; i < groups.count; i++) {
		assert_true(groups.groups[i - 1].rank <= groups.groups[i].rank);
	}
	hk_groups_fini(&groups);
	hk_report_free(report);
	maker_fini(&maker);
}

/* The even ranks, on host "even", spend 100, 300, 100, the odd ones 200 each, on "odd". */
static void test_a_host_is_compared_with_itself(void **state)
{
	struct maker maker;
	struct hk_report *report;
	struct hk_groups groups;
	(void)state;
	maker_init(&maker);
	for (int rank = 0; rank < 6; rank++) {
		struct maker_process *process =
		    maker_process(&maker, rank, HK__ROLE__ROLE_MAIN, 1000, 2000);
		process->message.host = (char *)(rank % 2 ? "odd" : "even");
		maker_call(maker_cell(process, "io", "read", "a", HK_LEVEL_TIME), rank % 2 ? 200
										  : rank == 2
										      ? 300
										      : 100);
	}
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);

	assert_int_equal(hk_groups_init(&groups, report, HK_GROUP_HOST), 0);
	assert_int_equal(groups.count, 2);
	for (size_t i = 0; i < groups.count; i++) {
		bool odd = strcmp(groups.groups[i].host, "odd") == 0;
		assert_true(fabs(groups.groups[i].imbalance - (odd ? 1 : 300.0 * 3 / 500)) < 1e-9);
	}
	hk_groups_fini(&groups);
	hk_report_free(report);
	maker_fini(&maker);
}

/* mpirun is no rank: what it does is not uneven among them. */
static void test_launchers_have_no_imbalance(void **state)
{
	struct maker maker;
	struct hk_report *report;
	struct hk_groups groups;
	(void)state;
	maker_init(&maker);
	for (int rank = 0; rank < 4; rank++) {
		struct maker_process *process =
		    maker_process(&maker, rank, HK__ROLE__ROLE_MAIN, 1000, 2000);
		maker_call(maker_cell(process, "io", "read", "a", HK_LEVEL_TIME), 100);
	}
	struct maker_process *launcher =
	    maker_process(&maker, -1, HK__ROLE__ROLE_LAUNCHER, 1000, 2000);
	maker_call(maker_cell(launcher, "io", "read", "a", HK_LEVEL_TIME), 900);
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);

	assert_int_equal(hk_groups_init(&groups, report, HK_GROUP_FUNCTION), 0);
	assert_int_equal(groups.count, 2);
	assert_string_equal(groups.groups[0].role, "launcher");
	assert_true(groups.groups[0].imbalance == 0);
	assert_true(fabs(groups.groups[1].imbalance - 1) < 1e-9);
	hk_groups_fini(&groups);
	hk_report_free(report);
	maker_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups_sum_and_compare_ranks),
					   cmocka_unit_test(test_a_host_is_compared_with_itself),
					   cmocka_unit_test(test_launchers_have_no_imbalance)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
