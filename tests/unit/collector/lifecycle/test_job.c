/* What becomes of a job whose directory somebody else lays hands on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/job/jobdir.h"
#include "collector/lifecycle/discovery.h"
#include "collector/lifecycle/job_close.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_open.h"
#include "collector/lifecycle/job_save.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "wire/statistics.h"
#include "world.h"

static struct hk_job *open_job(struct world *world)
{
	struct hk_job *job;
	assert_int_equal(hk_job_open(world->collector,
				     &(struct hk_job_request){.key = "j", .announced = true}, &job),
			 0);
	return job;
}

static void path_in(const struct world *world, const char *name, char path[160])
{
	snprintf(path, 160, "%s/store/%s", world->base, name);
}

static void test_job_without_readable_statistics_is_left_alone(void **state)
{
	(void)state;
	struct world world;
	char path[160];
	world_make(&world);
	open_job(&world);
	path_in(&world, "j/statistics", path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	world_restart(&world);
	assert_null(hk_job_find(world.collector, "j"));
	world_remove(&world);
}

static void test_job_removed_while_open_is_saved_again(void **state)
{
	(void)state;
	struct world world;
	struct process_maker maker;
	Hk__Snapshot *snapshot = NULL;
	char path[160];
	static const uint8_t no_keys[4] = {0};
	world_make(&world);
	process_maker_start(&maker,
			    &(struct process_facts){.directory = world.run, .job = "j", .rank = 0});
	uint32_t call = process_maker_site(&maker, "call", "/a", 0, no_keys);
	process_maker_call(&maker, 0, call, maker.writer.header->start.ticks, 5, NULL, 0);
	hk_discovery_run(world.collector);
	struct hk_job *job = hk_job_find(world.collector, "j");
	assert_non_null(job);
	assert_int_equal(hk_job_save(world.collector, job), 0);
	path_in(&world, "j", path);
	assert_int_equal(hk_jobdir_remove(path), 0);
	assert_int_equal(access(path, F_OK), -1);
	process_maker_exit(&maker, 0);
	assert_int_equal(hk_job_save(world.collector, job), 0);
	world_finalise(&world, &maker);
	assert_int_equal(hk_job_close(world.collector, job), 0);
	assert_int_equal(hk_statistics_load(path, &snapshot), 0);
	assert_true(snapshot->job->closed);
	assert_int_equal(snapshot->n_processes, 1);
	assert_int_equal(snapshot->processes[0]->cells->calls[0], 1);
	hk__snapshot__free_unpacked(snapshot, NULL);
	process_maker_fini(&maker);
	world_remove(&world);
}

/* What cannot be written now keeps the job open, for this collector and for the next one. */
static void test_job_is_closed_only_once_it_is_saved(void **state)
{
	(void)state;
	struct world world;
	char obstacle[160];
	world_make(&world);
	struct hk_job *job = open_job(&world);
	path_in(&world, "j/job.json", obstacle);
	assert_int_equal(unlink(obstacle), 0);
	assert_int_equal(mkdir(obstacle, 0700), 0);
	assert_true(hk_job_close(world.collector, job) < 0);
	assert_false(job->state->closed);
	assert_false(hk_job_close_is_due(job, job->close_tried_ns));
	assert_true(hk_job_close_is_due(job, job->close_tried_ns + 1000000000u));
	world_restart(&world);
	job = hk_job_find(world.collector, "j");
	assert_non_null(job);
	assert_false(job->state->closed);
	assert_int_equal(rmdir(obstacle), 0);
	assert_int_equal(hk_job_close(world.collector, job), 0);
	assert_true(job->state->closed);
	assert_int_equal(access(obstacle, F_OK), 0);
	world_restart(&world);
	assert_null(hk_job_find(world.collector, "j"));
	world_remove(&world);
}

/* A job whose whole store was removed stays open, unless its collector is there for it alone. */
static void test_job_without_a_store_ends_with_its_private_collector(void **state)
{
	(void)state;
	struct world world;
	char path[160];
	world_make(&world);
	struct hk_job *job = open_job(&world);
	path_in(&world, "j", path);
	assert_int_equal(hk_jobdir_remove(path), 0);
	assert_int_equal(rmdir(world.collector->store), 0);
	assert_int_equal(hk_job_close(world.collector, job), -ENOENT);
	assert_false(job->state->closed);
	world.collector->options.exit_with_job = true;
	assert_int_equal(hk_job_close(world.collector, job), 0);
	assert_true(job->state->closed);
	assert_int_equal(mkdir(world.collector->store, 0700), 0);
	world_remove(&world);
}

static void test_job_removed_after_its_end_has_a_successor(void **state)
{
	(void)state;
	struct world world;
	char path[160];
	const struct hk_job_request request = {.key = "j"};
	world_make(&world);
	struct hk_job *job = open_job(&world);
	assert_int_equal(hk_job_close(world.collector, job), 0);
	path_in(&world, "j", path);
	assert_int_equal(hk_jobdir_remove(path), 0);
	assert_int_equal(hk_job_reopen(world.collector, job), -ENOENT);
	assert_true(job->state->closed);
	assert_int_equal(hk_job_resume(world.collector, &request, &job), 0);
	assert_false(job->state->closed);
	assert_ptr_equal(hk_job_find(world.collector, "j"), job);
	assert_null(job->next);
	assert_int_equal(access(path, F_OK), 0);
	world_remove(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_job_without_readable_statistics_is_left_alone),
	    cmocka_unit_test(test_job_removed_while_open_is_saved_again),
	    cmocka_unit_test(test_job_is_closed_only_once_it_is_saved),
	    cmocka_unit_test(test_job_without_a_store_ends_with_its_private_collector),
	    cmocka_unit_test(test_job_removed_after_its_end_has_a_successor),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
