/* What a root makes of what a leaf gave up, also after it was killed, and when its disk is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/codec/header.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_save.h"
#include "collector/link/chunk_intake.h"
#include "collector/link/intake.h"
#include "collector/link/peers.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "leaf_maker.h"
#include "world.h"

#define RECORDS 700u
#define MINUTE_NS UINT64_C(60000000000)

/* A leaf tells of a job of one process. */
static void report(struct world *world, uint64_t number)
{
	struct hk_intake_reply reply = {.parts = NULL};
	Hk__LeafReport *owned = leaf_report(number);
	assert_int_equal(hk_intake_report(world->collector, &(struct hk_intake_client){.user = ""},
					  owned, &reply),
			 0);
	assert_int_equal(reply.message.n_jobs, 1);
	assert_int_equal(reply.jobs[0]->error, 0);
	hk_intake_reply_fini(&reply);
	hk__leaf_report__free_unpacked(owned, NULL);
}

static int put(struct world *world, uint64_t number, uint8_t bytes[HK_CHUNK_HEADER_BYTES])
{
	Hk__ChunkPut put = HK__CHUNK_PUT__INIT;
	uint64_t last;
	put.process = (ProtobufCBinaryData){HK_UID_BYTES, leaf_process};
	put.number = number;
	put.chunk = (ProtobufCBinaryData){HK_CHUNK_HEADER_BYTES, bytes};
	return hk_chunk_intake_put(world->collector, "", &put, &last);
}

/* Chunk NUMBER had RECORDS, which the leaf gave up. */
static int put_tombstone(struct world *world, uint64_t number)
{
	const struct hk_chunk_header header = leaf_chunk_header(number, RECORDS);
	uint8_t bytes[HK_CHUNK_HEADER_BYTES];
	hk_chunk_header_tombstone(&header, 0, bytes);
	return put(world, number, bytes);
}

/* One without records. */
static int put_chunk(struct world *world, uint64_t number)
{
	uint8_t bytes[HK_CHUNK_HEADER_BYTES];
	leaf_chunk(number, bytes);
	return put(world, number, bytes);
}

static struct hk_job *the_job(const struct world *world)
{
	struct hk_job *job = hk_job_find(world->collector, LEAF_KEY);
	assert_non_null(job);
	assert_int_equal(job->state->n_nodes, 1);
	assert_int_equal(job->process_count, 1);
	return job;
}

static void expect_shed(const struct world *world, uint64_t records)
{
	const struct hk_job *job = the_job(world);
	assert_int_equal(job->processes->state->records_shed, records);
	assert_int_equal(job->state->nodes[0]->shed_records, records);
}

static void test_what_a_node_gave_up_is_known_after_a_kill(void **state)
{
	struct world world;
	(void)state;
	world_make(&world);
	report(&world, 1);
	assert_int_equal(put_tombstone(&world, 1), 1);
	hk_job_save(world.collector, the_job(&world));
	expect_shed(&world, RECORDS);
	/* This one is in no statistics when the root dies. */
	assert_int_equal(put_tombstone(&world, 2), 1);
	world_restart(&world);
	expect_shed(&world, 2 * RECORDS);
	world_remove(&world);
}

/* The process is in no statistics yet, but its file is there. */
static void test_a_process_that_was_forgotten_brings_what_its_file_says(void **state)
{
	struct world world;
	(void)state;
	world_make(&world);
	report(&world, 1);
	assert_int_equal(put_tombstone(&world, 1), 1);
	world_restart(&world);
	report(&world, 1);
	expect_shed(&world, RECORDS);
	world_remove(&world);
}

static void test_a_full_root_takes_tombstones_only(void **state)
{
	struct world world;
	(void)state;
	world_make(&world);
	report(&world, 1);
	struct hk_job *job = the_job(&world);
	job->full_error = -ENOSPC;
	assert_int_equal(put_chunk(&world, 1), -ENOSPC);
	assert_true(job->intake_full);
	assert_int_equal(put_tombstone(&world, 1), 1);
	assert_true(job->intake_full);
	expect_shed(&world, RECORDS);
	assert_int_equal(put_chunk(&world, 2), -ENOSPC);
	job->full_error = 0;
	assert_int_equal(put_chunk(&world, 2), 1);
	assert_false(job->intake_full);
	world_remove(&world);
}

/* A leaf that was refused for lack of room died: its chunk never comes. */
static void test_a_root_that_turns_nobody_away_is_not_full(void **state)
{
	struct world world;
	(void)state;
	world_make(&world);
	report(&world, 1);
	struct hk_job *job = the_job(&world);
	job->full_error = -ENOSPC;
	assert_int_equal(put_chunk(&world, 1), -ENOSPC);
	/* There is room again, but it may not be enough for that chunk. */
	assert_int_equal(hk_job_save(world.collector, job), 0);
	assert_int_equal(job->full_error, 0);
	assert_true(job->intake_full);
	job->turned_away_ns -= MINUTE_NS;
	assert_int_equal(hk_job_save(world.collector, job), 0);
	assert_false(job->intake_full);
	world_remove(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_a_node_gave_up_is_known_after_a_kill),
	    cmocka_unit_test(test_a_process_that_was_forgotten_brings_what_its_file_says),
	    cmocka_unit_test(test_a_full_root_takes_tombstones_only),
	    cmocka_unit_test(test_a_root_that_turns_nobody_away_is_not_full),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
