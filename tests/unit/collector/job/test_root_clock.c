/* A job that continues after another boot of its root: readers see the same Unix times as
 * before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collector/job/root_clock.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/process/process_state.h"
#include "report/clock/job_clock.h"

#define SECOND UINT64_C(1000000000)
#define UNIX (UINT64_C(1700000000) * SECOND)
#define UPTIME (UINT64_C(40000000) * SECOND) /* longer than this machine's */

static int64_t *list_of(int64_t value)
{
	int64_t *list = malloc(sizeof(*list));
	assert_non_null(list);
	*list = value;
	return list;
}

static ProtobufCBinaryData bytes_of(uint8_t byte)
{
	uint8_t *bytes = malloc(16);
	assert_non_null(bytes);
	memset(bytes, byte, 16);
	return (ProtobufCBinaryData){16, bytes};
}

static void add_node(Hk__Job *job)
{
	Hk__ClockMap *map = malloc(sizeof(*map));
	job->nodes = malloc(sizeof(Hk__Node *));
	assert_true(job->nodes && map);
	job->nodes[0] = malloc(sizeof(Hk__Node));
	assert_non_null(job->nodes[0]);
	hk__node__init(job->nodes[0]);
	job->n_nodes = 1;
	job->nodes[0]->id = bytes_of(9);
	job->nodes[0]->clock = map;
	hk__clock_map__init(map);
	map->root_boot = bytes_of(1);
	map->n_monotonic_ns = map->n_offset_ns = map->n_fit_error_ns = map->n_bound_ns = 1;
	map->monotonic_ns = (uint64_t *)list_of(100 * SECOND);
	map->offset_ns = list_of((int64_t)(UPTIME - 100 * SECOND));
	map->fit_error_ns = (uint64_t *)list_of(10);
	map->bound_ns = (uint64_t *)list_of(20);
}

/* One process of the root and one of a node, both from a second after the job's start on. */
static Hk__Snapshot *make_snapshot(void)
{
	Hk__Snapshot *snapshot = malloc(sizeof(*snapshot));
	assert_non_null(snapshot);
	hk__snapshot__init(snapshot);
	snapshot->job = malloc(sizeof(*snapshot->job));
	snapshot->processes = malloc(2 * sizeof(Hk__Process *));
	assert_true(snapshot->job && snapshot->processes);
	hk__job__init(snapshot->job);
	snapshot->job->start_unix_ns = UNIX;
	snapshot->job->root_boot = bytes_of(1);
	assert_int_equal(hk_field_set_anchor(&snapshot->job->root, 0, UPTIME, UNIX), 0);
	add_node(snapshot->job);
	for (size_t i = 0; i < 2; i++) {
		Hk__Process *process = malloc(sizeof(*process));
		assert_non_null(process);
		hk__process__init(process);
		uint64_t monotonic_ns = i == 0 ? UPTIME + SECOND : 101 * SECOND;
		assert_int_equal(
		    hk_field_set_anchor(&process->start, 5, monotonic_ns, UNIX + SECOND), 0);
		assert_int_equal(hk_field_set_anchor(&process->end, 5 + SECOND,
						     monotonic_ns + SECOND, UNIX + 2 * SECOND),
				 0);
		snapshot->processes[snapshot->n_processes++] = process;
	}
	snapshot->processes[1]->node = bytes_of(9);
	return snapshot;
}

static void expect_times(const Hk__Snapshot *snapshot)
{
	struct hk_report_clock *clocks;
	struct hk_report_error error;
	assert_int_equal(hk_report_clock_all(snapshot, &clocks), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(hk_report_clock_ns(&clocks[i], 5), SECOND);
		assert_int_equal(hk_report_clock_ns(&clocks[i], 5 + SECOND), 2 * SECOND);
		assert_true(hk_report_clock_error(&clocks[i], 5, 6, &error));
	}
	free(clocks);
}

static void test_times_stay_over_a_boot(void **state)
{
	struct hk_collector *collector = calloc(1, sizeof(*collector));
	Hk__Snapshot *snapshot = make_snapshot();
	(void)state;
	assert_non_null(collector);
	memset(collector->boot, 1, sizeof(collector->boot));
	assert_false(hk_root_clock_is_old(collector, snapshot->job));
	expect_times(snapshot);
	memset(collector->boot, 2, sizeof(collector->boot));
	assert_true(hk_root_clock_is_old(collector, snapshot->job));
	assert_int_equal(hk_root_clock_carry_over(collector, snapshot), 0);
	assert_false(hk_root_clock_is_old(collector, snapshot->job));
	assert_true(snapshot->job->root->monotonic_ns <= hk_clock_monotonic_ns());
	expect_times(snapshot);
	hk__snapshot__free_unpacked(snapshot, NULL);
	free(collector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_times_stay_over_a_boot),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
