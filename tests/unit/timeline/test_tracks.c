/* Processes of a damaged job have times at the edge, none beyond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timeline/tracks.h"

#define STARTED INT64_C(1795328478007766595)

/* When a process began that says so by MONOTONIC_NS of a root that began at 0. */
static uint64_t start_of(uint64_t monotonic_ns)
{
	Hk__Anchor root = HK__ANCHOR__INIT, start = HK__ANCHOR__INIT;
	Hk__Job job = HK__JOB__INIT;
	Hk__Process process = HK__PROCESS__INIT, *processes[] = {&process};
	Hk__Snapshot snapshot = HK__SNAPSHOT__INIT;
	struct hk_tracks *tracks;
	uint64_t start_ns;

	root.realtime_ns = job.start_unix_ns = (uint64_t)STARTED;
	start.realtime_ns = (uint64_t)STARTED;
	start.monotonic_ns = monotonic_ns;
	job.root = &root;
	process.start = &start;
	snapshot.job = &job;
	snapshot.processes = processes;
	snapshot.n_processes = 1;
	assert_int_equal(hk_tracks_new(&snapshot, NULL, NULL, &tracks), 0);
	start_ns = hk_tracks_shown(tracks)[0]->start_ns;
	hk_tracks_free(tracks);
	return start_ns;
}

static void test_start_is_the_root_s_and_what_passed_since(void **state)
{
	(void)state;
	assert_int_equal(start_of(5), (uint64_t)STARTED + 5);
}

static void test_start_beyond_time_is_its_edge(void **state)
{
	(void)state;
	assert_int_equal(start_of((uint64_t)INT64_MAX), (uint64_t)INT64_MAX);
	assert_int_equal(start_of((uint64_t)INT64_MIN), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_start_is_the_root_s_and_what_passed_since),
	    cmocka_unit_test(test_start_beyond_time_is_its_edge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
