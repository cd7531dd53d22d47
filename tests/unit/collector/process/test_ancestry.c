/* Which processes belong together: images of one, parents and children, in whatever order they are
 * seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "collector/lifecycle/discovery.h"
#include "collector/lifecycle/process_exit.h"
#include "collector/lifecycle/process_list.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/process/ancestry.h"
#include "collector/process/process_state.h"
#include "world.h"

static void move(const char *from, const char *to)
{
	assert_int_equal(rename(from, to), 0);
}

static void test_family_exec_ends_the_image_before(void **state)
{
	(void)state;
	struct world world;
	struct process_maker shell, next;
	world_make(&world);
	process_maker_start(
	    &shell, &(struct process_facts){
			.directory = world.run, .job = "e", .program = "/bin/sh", .rank = -1});
	process_maker_start(
	    &next, &(struct process_facts){
		       .directory = world.run, .job = "e", .rank = -1, .same_pid = shell.pid});
	hk_discovery_run(world.collector);
	struct hk_process *before = world_find(&world, &shell), *after = world_find(&world, &next);
	assert_int_equal(before->state->role, HK__ROLE__ROLE_LAUNCHER);
	assert_int_equal(before->state->exit_kind, HK__EXIT_KIND__EXIT_EXEC);
	assert_true(before->exited);
	assert_int_equal(before->state->end->ticks, after->state->start->ticks);
	assert_int_equal(after->state->role, HK__ROLE__ROLE_MAIN);
	assert_false(after->exited);
	world_finalise(&world, &shell);
	assert_ptr_equal(hk_ancestry_by_pid(world.collector, (uint32_t)shell.pid), after);
	/* A program that is not traced in its place shows in /proc alone. */
	hk_field_set_string(&after->state->program, "/bin/true");
	hk_process_check(after);
	assert_true(after->exited);
	assert_int_equal(after->state->exit_kind, HK__EXIT_KIND__EXIT_EXEC);
	process_maker_fini(&next);
	process_maker_fini(&shell);
	world_remove(&world);
}

static void test_family_notice_is_of_the_last_image(void **state)
{
	(void)state;
	struct world world;
	struct process_maker first, last;
	char hidden[64];
	world_make(&world);
	snprintf(hidden, sizeof(hidden), "%s/hidden", world.base);
	struct process_facts facts = {.directory = world.run, .job = "n", .rank = -1};
	process_maker_start(&first, &facts);
	facts.same_pid = first.pid;
	process_maker_start(&last, &facts);
	move(last.writer.path, hidden);
	hk_discovery_run(world.collector);
	const uint32_t pid = (uint32_t)first.pid;
	process_maker_kill(&first);
	Hk__ExitNotice notice = HK__EXIT_NOTICE__INIT;
	notice.pid = pid;
	notice.code = 5;
	hk_process_notice(world.collector, &notice);
	assert_int_equal(world_find(&world, &first)->state->exit_kind, HK__EXIT_KIND__EXIT_EXITED);
	move(hidden, last.writer.path);
	hk_discovery_run(world.collector);
	assert_int_equal(world_find(&world, &first)->state->exit_kind, HK__EXIT_KIND__EXIT_EXEC);
	assert_int_equal(world_find(&world, &last)->state->exit_kind, HK__EXIT_KIND__EXIT_EXITED);
	assert_int_equal(world_find(&world, &last)->state->exit_code, 5);
	process_maker_fini(&last);
	process_maker_fini(&first);
	world_remove(&world);
}

static void test_family_decides_job_rank_and_role(void **state)
{
	(void)state;
	struct world world;
	struct process_maker driver, rank0, rank1, worker, beside;
	world_make(&world);
	struct process_facts facts = {.directory = world.run, .job = "fam", .rank = -1};
	process_maker_start(&driver, &facts); /* a driver script: taken for the main at first */
	hk_discovery_run(world.collector);
	assert_int_equal(world_find(&world, &driver)->state->role, HK__ROLE__ROLE_MAIN);
	assert_int_equal(world_find(&world, &driver)->state->rank, 0);
	facts.ppid = (uint32_t)driver.pid;
	facts.world_size = 2;
	facts.rank = 0;
	process_maker_start(&rank0, &facts);
	facts.rank = 1;
	process_maker_start(&rank1, &facts);
	process_maker_start(&beside, &facts); /* a second process of rank 1 */
	/* A child of rank 1 whose environment was cleared. */
	process_maker_start(&worker, &(struct process_facts){.directory = world.run,
							     .program = "/bin/sh",
							     .ppid = (uint32_t)rank1.pid,
							     .rank = -1});
	hk_discovery_run(world.collector);
	assert_int_equal(world_find(&world, &driver)->state->role, HK__ROLE__ROLE_LAUNCHER);
	assert_int_equal(world_find(&world, &driver)->state->rank, -1);
	assert_int_equal(world_find(&world, &rank0)->state->role, HK__ROLE__ROLE_MAIN);
	assert_int_equal(world_find(&world, &rank1)->state->role, HK__ROLE__ROLE_MAIN);
	assert_int_equal(world_find(&world, &beside)->state->role, HK__ROLE__ROLE_HELPER);
	assert_int_equal(world_find(&world, &worker)->state->role, HK__ROLE__ROLE_HELPER);
	assert_int_equal(world_find(&world, &worker)->state->rank, 1);
	assert_ptr_equal(world_find(&world, &worker)->job, world_find(&world, &rank1)->job);
	process_maker_fini(&driver);
	process_maker_fini(&rank0);
	process_maker_fini(&rank1);
	process_maker_fini(&worker);
	process_maker_fini(&beside);
	world_remove(&world);
}

static void test_family_fork_seen_before_its_parent_is_a_helper(void **state)
{
	(void)state;
	struct world world;
	struct process_maker parent, child, grandchild;
	char hidden[64];
	world_make(&world);
	snprintf(hidden, sizeof(hidden), "%s/hidden", world.base);
	struct process_facts facts = {.directory = world.run, .job = "f", .rank = 3};
	process_maker_start(&parent, &facts);
	facts.parent = parent.writer.header->uid;
	process_maker_start(&child, &facts);
	/* A daemon: its own parent has left; without a job's name it belongs to that one's. */
	process_maker_start(
	    &grandchild,
	    &(struct process_facts){
		.directory = world.run, .rank = -1, .ppid = 1, .parent = child.writer.header->uid});
	move(parent.writer.path, hidden);
	hk_discovery_run(world.collector);
	assert_int_equal(world_find(&world, &child)->state->role, HK__ROLE__ROLE_HELPER);
	assert_int_equal(world_find(&world, &grandchild)->state->role, HK__ROLE__ROLE_HELPER);
	assert_int_equal(world_find(&world, &grandchild)->state->rank, 3);
	assert_ptr_equal(world_find(&world, &grandchild)->job, world_find(&world, &child)->job);
	move(hidden, parent.writer.path);
	hk_discovery_run(world.collector);
	assert_int_equal(world_find(&world, &parent)->state->role, HK__ROLE__ROLE_MAIN);
	process_maker_fini(&grandchild);
	process_maker_fini(&child);
	process_maker_fini(&parent);
	world_remove(&world);
}

/* The kernel gives a pid to one process after the other; here all of them belong to one job. */
static void test_family_pid_is_looked_up_whoever_had_it(void **state)
{
	(void)state;
	struct world world;
	struct process_maker images[3];
	world_make(&world);
	struct process_facts facts = {.directory = world.run, .job = "pid", .rank = -1};
	for (unsigned i = 0; i < 3; i++) {
		process_maker_start(&images[i], &facts);
		facts.same_pid = images[0].pid;
	}
	const uint32_t pid = (uint32_t)images[0].pid;
	assert_null(hk_ancestry_by_pid(world.collector, pid));
	hk_discovery_run(world.collector);
	world_finalise(&world, &images[0]);
	world_finalise(&world, &images[1]);
	struct hk_process *last = world_find(&world, &images[2]);
	assert_ptr_equal(hk_ancestry_by_pid(world.collector, pid), last);
	/* From the oldest on, from the newest on, and from the middle. */
	hk_process_forget(world.collector, last->job->processes);
	assert_ptr_equal(hk_ancestry_by_pid(world.collector, pid), last);
	struct hk_process *middle = last->job->processes;
	hk_process_forget(world.collector, last);
	assert_ptr_equal(hk_ancestry_by_pid(world.collector, pid), middle);
	assert_ptr_equal(hk_ancestry_by_uid(world.collector, images[1].writer.header->uid), middle);
	assert_null(hk_ancestry_by_uid(world.collector, images[2].writer.header->uid));
	hk_process_forget(world.collector, middle);
	assert_null(hk_ancestry_by_pid(world.collector, pid));
	/* A segment that is still there is found again, and what is known of the others by their
	 * frames. */
	world_restart(&world);
	last = world_find(&world, &images[2]);
	assert_ptr_equal(hk_ancestry_by_pid(world.collector, pid), last);
	assert_non_null(hk_ancestry_by_uid(world.collector, images[0].writer.header->uid));
	assert_non_null(hk_ancestry_by_uid(world.collector, images[1].writer.header->uid));
	for (unsigned i = 0; i < 3; i++) {
		process_maker_fini(&images[i]);
	}
	world_remove(&world);
}

/* After a restart it is the frames that tell whether ranks are known. */
static void test_family_ranks_are_known_after_a_restart(void **state)
{
	(void)state;
	struct world world;
	struct process_maker rank, beside;
	world_make(&world);
	struct process_facts facts = {.directory = world.run, .job = "known", .rank = 0};
	process_maker_start(&rank, &facts);
	hk_discovery_run(world.collector);
	process_maker_kill(&rank);
	world_finalise(&world, &rank);
	world_restart(&world);
	facts.rank = -1;
	process_maker_start(&beside, &facts);
	hk_discovery_run(world.collector);
	assert_int_equal(world_find(&world, &beside)->state->role, HK__ROLE__ROLE_LAUNCHER);
	process_maker_fini(&beside);
	process_maker_fini(&rank);
	world_remove(&world);
}

/* Children that began by exec come after their parent too, however many there are at once. */
#define CROWD 400

static void test_family_crowd_is_filed_in_order_of_birth(void **state)
{
	(void)state;
	static struct process_maker parent, crowd[CROWD];
	struct world world;
	world_make(&world);
	struct process_facts facts = {.directory = world.run, .job = "crowd", .rank = 0};
	process_maker_start(&parent, &facts);
	facts.ppid = (uint32_t)parent.pid;
	facts.blocks_max = 64;
	for (unsigned i = 0; i < CROWD; i++) {
		process_maker_start(&crowd[i], &facts);
	}
	hk_discovery_run(world.collector);
	assert_int_equal(world_find(&world, &parent)->state->role, HK__ROLE__ROLE_MAIN);
	for (unsigned i = 0; i < CROWD; i++) {
		assert_int_equal(world_find(&world, &crowd[i])->state->role, HK__ROLE__ROLE_HELPER);
		process_maker_fini(&crowd[i]);
	}
	process_maker_fini(&parent);
	world_remove(&world);
}

/* More segments than there is room for at once, of one process, so that the test is quick. */
static void test_family_segments_wait_for_room(void **state)
{
	(void)state;
	static struct process_maker first, more[HK_COLLECTOR_SEGMENTS_MAX + 4];
	struct world world;
	world_make(&world);
	struct process_facts facts = {
	    .directory = world.run, .job = "room", .rank = -1, .blocks_max = 8};
	process_maker_start(&first, &facts);
	facts.same_pid = first.pid;
	for (unsigned i = 0; i < HK_COLLECTOR_SEGMENTS_MAX + 4; i++) {
		process_maker_start(&more[i], &facts);
	}
	hk_discovery_run(world.collector);
	assert_int_equal(world.collector->waiting, 5);
	assert_int_equal(world.collector->refused, 0);
	struct hk_process *process, *next;
	HASH_ITER (hh, world.collector->processes, process, next) {
		process->exited = true;
		assert_int_equal(hk_process_finalise(world.collector, process), 0);
	}
	hk_discovery_run(world.collector);
	assert_int_equal(world.collector->waiting, 0);
	assert_int_equal(HASH_COUNT(world.collector->processes), 5);
	for (unsigned i = 0; i < HK_COLLECTOR_SEGMENTS_MAX + 4; i++) {
		process_maker_fini(&more[i]);
	}
	process_maker_fini(&first);
	world_remove(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_family_exec_ends_the_image_before),
	    cmocka_unit_test(test_family_notice_is_of_the_last_image),
	    cmocka_unit_test(test_family_decides_job_rank_and_role),
	    cmocka_unit_test(test_family_fork_seen_before_its_parent_is_a_helper),
	    cmocka_unit_test(test_family_pid_is_looked_up_whoever_had_it),
	    cmocka_unit_test(test_family_ranks_are_known_after_a_restart),
	    cmocka_unit_test(test_family_crowd_is_filed_in_order_of_birth),
	    cmocka_unit_test(test_family_segments_wait_for_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
