/* Folding at the source and summing the rows here give the same groups, to the last number. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/build/build.h"
#include "report/build/group.h"
#include "report/build/rollup.h"
#include "snapshot_maker.h"
#include "wire/message.h"
#include "wire/sites.h"

/* Ranks that have some sites in common, in another order, or ALIKE ones, and two processes of one
 * rank. */
static void make_ranks(struct maker *maker, bool alike)
{
	static const char *const names[] = {"read", "write", "MPI_Send", "poll"};
	maker_init(maker);
	for (int i = 0; i < 12; i++) {
		Hk__Role role = i % 5 == 4 ? HK__ROLE__ROLE_HELPER : HK__ROLE__ROLE_MAIN;
		struct maker_process *process = maker_process(maker, i % 7, role, 10, 1000);
		for (int k = 0; k < 6; k++) {
			int name = (alike ? k : k + i) % 4;
			uint32_t level = k == 5	  ? HK_LEVEL_SAMPLE
					 : k == 4 ? HK_LEVEL_COUNT
						  : HK_LEVEL_TIME;
			Hk__Cell *cell = maker_cell(process, name == 2 ? "mpi" : "io", names[name],
						    k % 2 ? "/a" : "/b", level);
			for (uint64_t call = 0; call < (uint64_t)(i * 3 + k); call++) {
				maker_call(cell, call * 1000 + (uint64_t)(i + k));
			}
			cell->calls += (uint64_t)k;
			cell->errors = (uint64_t)i;
		}
	}
	maker_open(maker->processes[3], 2, 1, 500);
}

static void make(struct maker *maker)
{
	make_ranks(maker, false);
}

/* As it comes out at the other side. */
static Hk__Snapshot *carry(const Hk__Snapshot *snapshot)
{
	uint8_t *bytes;
	size_t size;
	ProtobufCMessage *message;
	assert_int_equal(hk_message_pack(&snapshot->base, &bytes, &size), 0);
	assert_int_equal(hk_message_unpack(&hk__snapshot__descriptor, bytes, size, &message), 0);
	free(bytes);
	return (Hk__Snapshot *)message;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static const struct hk_group *find(const struct hk_groups *groups, const struct hk_group *wanted)
{
	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_group *group = &groups->groups[i];
		if (is_same(group->function, wanted->function) &&
		    is_same(group->domain, wanted->domain) &&
		    is_same(group->library, wanted->library) &&
		    is_same(group->host, wanted->host) && is_same(group->role, wanted->role) &&
		    group->rank == wanted->rank) {
			return group;
		}
	}
	fail();
	return NULL;
}

static void assert_same(const struct hk_group *a, const struct hk_group *b)
{
	const struct hk_report_numbers *x = &a->numbers, *y = &b->numbers;
	assert_int_equal(x->calls, y->calls);
	assert_int_equal(x->errors, y->errors);
	assert_int_equal(x->timed, y->timed);
	assert_int_equal(x->total_ns, y->total_ns);
	assert_int_equal(x->self_ns, y->self_ns);
	assert_int_equal(x->outermost_ns, y->outermost_ns);
	assert_int_equal(x->bytes, y->bytes);
	assert_int_equal(x->min_ns, y->min_ns);
	assert_int_equal(x->max_ns, y->max_ns);
	assert_int_equal(x->mean_ns, y->mean_ns);
	assert_int_equal(x->p50_ns, y->p50_ns);
	assert_int_equal(x->p90_ns, y->p90_ns);
	assert_int_equal(x->p99_ns, y->p99_ns);
	assert_int_equal(x->have_total, y->have_total);
	assert_int_equal(x->have_bytes, y->have_bytes);
	assert_int_equal(x->have_latency, y->have_latency);
	assert_int_equal(x->estimated, y->estimated);
	assert_int_equal(a->rank_most_ns, b->rank_most_ns);
	assert_int_equal(a->flags, b->flags);
	assert_true(a->imbalance == b->imbalance);
}

static void check_groups(const Hk__Snapshot *whole, const struct hk_report *report, unsigned keys,
			 const uint64_t *digests)
{
	Hk__SnapshotRequest request = HK__SNAPSHOT_REQUEST__INIT;
	struct hk_groups rows, folded;
	struct hk_rollup fold;
	request.fold_keys = keys == HK_GROUP_FUNCTION ? 0 : keys;
	assert_int_equal(hk_groups_init(&rows, report, keys), 0);
	assert_int_equal(hk_rollup_init(&fold, whole, &request, digests), 0);
	Hk__Snapshot *carried = carry(&fold.snapshot);
	assert_true(carried->folded);
	assert_int_equal(carried->fold_keys, keys);
	assert_int_equal(hk_groups_of_functions(&folded, carried, report), 0);
	assert_int_equal(folded.count, rows.count);
	assert_true(rows.count > 1);
	for (size_t i = 0; i < rows.count; i++) {
		assert_same(&rows.groups[i], find(&folded, &rows.groups[i]));
	}
	hk_groups_fini(&folded);
	hk_groups_fini(&rows);
	hk__snapshot__free_unpacked(carried, NULL);
	hk_rollup_fini(&fold);
}

/* By the names of every process's sites, and by digests; how many processes have the digest of the
 * one before. */
static size_t check_all_groups(bool alike)
{
	struct maker maker;
	struct hk_report *report;
	uint64_t digests[16];
	size_t same = 0;
	make_ranks(&maker, alike);
	Hk__Snapshot *whole = maker_snapshot(&maker);
	assert_true(whole->n_processes <= 16);
	for (size_t i = 0; i < whole->n_processes; i++) {
		digests[i] = hk_sites_digest(whole->processes[i]);
		same += i > 0 && digests[i] == digests[i - 1];
	}
	assert_int_equal(hk_report_new(whole, &report), 0);
	for (unsigned keys = 1; keys < 2 * HK_GROUP_DOMAIN; keys++) {
		check_groups(whole, report, keys, NULL);
		check_groups(whole, report, keys, digests);
	}
	hk_report_free(report);
	maker_fini(&maker);
	return same;
}

static void test_folded_groups_are_those_of_the_rows(void **state)
{
	(void)state;
	assert_int_equal(check_all_groups(false), 0);
	assert_int_equal(check_all_groups(true), 11);
}

static void test_only_what_is_asked_for_is_folded(void **state)
{
	(void)state;
	struct maker maker;
	Hk__SnapshotRequest request = HK__SNAPSHOT_REQUEST__INIT;
	Hk__Function only = HK__FUNCTION__INIT;
	struct hk_report *report;
	struct hk_groups rows, folded;
	struct hk_rollup fold;
	size_t wanted = 0;
	make(&maker);
	Hk__Snapshot *whole = maker_snapshot(&maker);
	assert_int_equal(hk_report_new(whole, &report), 0);
	const unsigned keys = HK_GROUP_RANK | HK_GROUP_FUNCTION;
	assert_int_equal(hk_groups_init(&rows, report, keys), 0);
	only.role = HK__ROLE__ROLE_MAIN;
	only.function = (char *)(uintptr_t) "read";
	only.domain = (char *)(uintptr_t) "io";
	request.fold_keys = keys;
	request.fold_only = &only;
	request.no_processes = true;
	assert_int_equal(hk_rollup_init(&fold, whole, &request, NULL), 0);
	assert_int_equal(fold.snapshot.n_processes, 0);
	assert_int_equal(hk_groups_of_functions(&folded, &fold.snapshot, report), 0);
	for (size_t i = 0; i < rows.count; i++) {
		const struct hk_group *row = &rows.groups[i];
		if (strcmp(row->role, "main") == 0 && strcmp(row->function, "read") == 0) {
			assert_same(row, find(&folded, row));
			wanted++;
		}
	}
	assert_int_equal(folded.count, wanted);
	assert_true(wanted > 4);
	hk_groups_fini(&folded);
	hk_rollup_fini(&fold);
	only.have_rank = true;
	only.rank = 3;
	assert_int_equal(hk_rollup_init(&fold, whole, &request, NULL), 0);
	assert_int_equal(fold.snapshot.n_functions, 1);
	hk_rollup_fini(&fold);
	request.fold_keys = 2 * HK_GROUP_PROCESS;
	assert_int_equal(hk_rollup_init(&fold, whole, &request, NULL), -EINVAL);
	hk_groups_fini(&rows);
	hk_report_free(report);
	maker_fini(&maker);
}

static void test_fold_keeps_ranks_and_open_calls(void **state)
{
	(void)state;
	struct maker maker;
	struct hk_report *report, *whole_report;
	struct hk_rollup fold;
	const Hk__SnapshotRequest request = HK__SNAPSHOT_REQUEST__INIT;
	make(&maker);
	Hk__Snapshot *whole = maker_snapshot(&maker);
	assert_int_equal(hk_report_new(whole, &whole_report), 0);
	assert_int_equal(hk_rollup_init(&fold, whole, &request, NULL), 0);
	assert_int_equal(hk_report_new(&fold.snapshot, &report), 0);
	assert_int_equal(report->rank_count, whole_report->rank_count);
	assert_int_equal(report->process_count, whole_report->process_count);
	assert_int_equal(report->open_call_count, 1);
	assert_string_equal(report->open_calls[0].function, whole_report->open_calls[0].function);
	assert_int_equal(report->call_count, 0);
	/* Nothing is said of what is not there to be seen. */
	assert_string_equal(report->processes[0].coverage, "");
	hk_report_free(report);
	hk_report_free(whole_report);
	hk_rollup_fini(&fold);
	maker_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_folded_groups_are_those_of_the_rows),
	    cmocka_unit_test(test_only_what_is_asked_for_is_folded),
	    cmocka_unit_test(test_fold_keeps_ranks_and_open_calls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
