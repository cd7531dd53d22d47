/* What a leaf has yet to bring, when it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "collector/lifecycle/discovery.h"
#include "collector/lifecycle/job_close.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_open.h"
#include "collector/lifecycle/job_save.h"
#include "collector/link/leaf_update.h"
#include "collector/link/outbox.h"
#include "collector/model/job.h"
#include "world.h"

static void test_outbox_ends_while_the_values_of_a_closed_job_are_loaded(void **state)
{
	(void)state;
	static const uint8_t no_keys[4] = {0};
	struct hk_outbox outbox = {0};
	struct process_maker maker;
	struct world world;
	world_make(&world);
	process_maker_start(&maker,
			    &(struct process_facts){.directory = world.run, .job = "j", .rank = 0});
	uint32_t call = process_maker_site(&maker, "call", "/a", 0, no_keys);
	process_maker_call(&maker, 0, call, maker.writer.header->start.ticks, 5, NULL, 0);
	hk_discovery_run(world.collector);
	struct hk_job *job = hk_job_find(world.collector, "j");
	assert_non_null(job);
	assert_true(hk_outbox_update(&outbox, world.collector));
	process_maker_exit(&maker, 0);
	world_finalise(&world, &maker);
	assert_int_equal(hk_job_save(world.collector, job), 0);
	hk_outbox_close(&outbox, world.collector, job);
	struct hk_outbox_job *left = outbox.jobs;
	assert_non_null(left);
	assert_null(left->job);
	assert_int_equal(hk_outbox_load(left), 0);
	assert_non_null(left->processes->state);
	assert_true(hk_outbox_has_chunk(left->processes));
	hk_outbox_fini(&outbox);
	assert_null(outbox.jobs);
	assert_null(outbox.processes);
	process_maker_fini(&maker);
	world_remove(&world);
}

/* A closed job without processes. */
static void put_closed(struct hk_outbox *outbox, struct hk_collector *collector, const char *key)
{
	struct hk_job *job;
	assert_int_equal(hk_job_open(collector, &(struct hk_job_request){.key = key}, &job), 0);
	hk_outbox_update(outbox, collector);
	hk_outbox_close(outbox, collector, job);
	assert_int_equal(hk_job_close(collector, job), 0);
}

/* The key of the only job of the next report. */
static void told(const struct hk_collector *collector, struct hk_outbox *outbox, char key[16])
{
	struct hk_leaf_report_head head = {.host = "h"};
	struct hk_leaf_report report;
	assert_int_equal(hk_leaf_report_make(collector, &head, outbox, &report), 0);
	assert_int_equal(report.message.n_jobs, 1);
	snprintf(key, 16, "%s", report.message.jobs[0]->job->key);
	hk_leaf_report_fini(&report, true);
}

static void test_outbox_job_that_is_refused_keeps_no_other_waiting(void **state)
{
	(void)state;
	struct hk_outbox outbox = {0};
	struct world world;
	char key[16];
	world_make(&world);
	put_closed(&outbox, world.collector, "first");
	put_closed(&outbox, world.collector, "second");
	told(world.collector, &outbox, key);
	assert_string_equal(key, "first");
	told(world.collector, &outbox, key);
	assert_string_equal(key, "first"); /* not answered yet */
	hk_outbox_postpone(&outbox, outbox.jobs);
	told(world.collector, &outbox, key);
	assert_string_equal(key, "second");
	hk_outbox_postpone(&outbox, outbox.jobs);
	told(world.collector, &outbox, key);
	assert_string_equal(key, "first");
	hk_outbox_fini(&outbox);
	world_remove(&world);
}

static void test_outbox_job_is_not_complete_before_the_clock_is_known(void **state)
{
	(void)state;
	struct hk_leaf_report_head head = {.host = "h", .clock_awaited = true};
	struct hk_outbox outbox = {0};
	struct hk_leaf_report report;
	struct world world;
	world_make(&world);
	put_closed(&outbox, world.collector, "ended");
	for (int awaited = 1; awaited >= 0; awaited--) {
		head.clock_awaited = awaited;
		assert_int_equal(hk_leaf_report_make(world.collector, &head, &outbox, &report), 0);
		assert_int_equal(report.message.n_jobs, 1);
		assert_int_equal(report.message.jobs[0]->complete, !awaited);
		hk_leaf_report_fini(&report, true);
	}
	hk_outbox_fini(&outbox);
	world_remove(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_outbox_job_is_not_complete_before_the_clock_is_known),
	    cmocka_unit_test(test_outbox_job_that_is_refused_keeps_no_other_waiting),
	    cmocka_unit_test(test_outbox_ends_while_the_values_of_a_closed_job_are_loaded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
