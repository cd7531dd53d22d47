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
#include "world.h"

#define KEY "j"
#define RECORDS 700u
#define MINUTE_NS UINT64_C(60000000000)

static uint8_t node_id[HK_NODE_ID_BYTES] = {1}, uid[HK_UID_BYTES] = {2};

/* A leaf tells of a job of one process. */
static void report(struct world *world, uint64_t number)
{
	Hk__Node node = HK__NODE__INIT;
	Hk__Job job = HK__JOB__INIT;
	Hk__Anchor start = HK__ANCHOR__INIT;
	Hk__Process process = HK__PROCESS__INIT;
	Hk__LeafJob part = HK__LEAF_JOB__INIT;
	Hk__LeafReport all = HK__LEAF_REPORT__INIT;
	struct hk_intake_reply reply = {.parts = NULL};
	ProtobufCMessage *owned;
	uint8_t *bytes;
	size_t size;
	node.id = (ProtobufCBinaryData){sizeof(node_id), node_id};
	job.key = (char *)(uintptr_t)KEY;
	job.opened_unix_ns = 1;
	process.uid = (ProtobufCBinaryData){sizeof(uid), uid};
	process.start = &start;
	part.job = &job;
	part.n_processes = 1;
	part.processes = (Hk__Process *[]){&process};
	all.node = &node;
	all.n_jobs = 1;
	all.jobs = (Hk__LeafJob *[]){&part};
	all.number = number;
	assert_int_equal(hk_message_pack(&all.base, &bytes, &size), 0);
	assert_int_equal(hk_message_unpack(&hk__leaf_report__descriptor, bytes, size, &owned), 0);
	assert_int_equal(hk_intake_report(world->collector, &(struct hk_intake_client){.user = ""},
					  (Hk__LeafReport *)owned, &reply),
			 0);
	assert_int_equal(reply.message.n_jobs, 1);
	assert_int_equal(reply.jobs[0]->error, 0);
	hk_intake_reply_fini(&reply);
	protobuf_c_message_free_unpacked(owned, NULL);
	free(bytes);
}

static struct hk_chunk_header chunk_header(uint64_t number, uint32_t records)
{
	struct hk_chunk_header header = {
	    .magic = HK_CHUNK_MAGIC,
	    .major = HK_CHUNK_MAJOR,
	    .minor = HK_CHUNK_MINOR,
	    .header_bytes = HK_CHUNK_HEADER_BYTES,
	    .total_bytes = HK_CHUNK_HEADER_BYTES,
	    .number = number,
	    .records = records,
	    .min_start_ticks = UINT64_MAX,
	    .lanes_min_start_ticks = UINT64_MAX,
	    .long_min_start_ticks = UINT64_MAX,
	    .span = HK_CHUNK_HEADER_BYTES,
	};
	memcpy(header.process, uid, sizeof(uid));
	return header;
}

static int put(struct world *world, uint64_t number, uint8_t bytes[HK_CHUNK_HEADER_BYTES])
{
	Hk__ChunkPut put = HK__CHUNK_PUT__INIT;
	uint64_t last;
	put.process = (ProtobufCBinaryData){sizeof(uid), uid};
	put.number = number;
	put.chunk = (ProtobufCBinaryData){HK_CHUNK_HEADER_BYTES, bytes};
	return hk_chunk_intake_put(world->collector, "", &put, &last);
}

/* Chunk NUMBER had RECORDS, which the leaf gave up. */
static int put_tombstone(struct world *world, uint64_t number)
{
	const struct hk_chunk_header header = chunk_header(number, RECORDS);
	uint8_t bytes[HK_CHUNK_HEADER_BYTES];
	hk_chunk_header_tombstone(&header, 0, bytes);
	return put(world, number, bytes);
}

/* One without records. */
static int put_chunk(struct world *world, uint64_t number)
{
	const struct hk_chunk_header header = chunk_header(number, 0);
	uint8_t bytes[HK_CHUNK_HEADER_BYTES];
	memcpy(bytes, &header, sizeof(header));
	hk_chunk_header_seal(bytes, sizeof(bytes));
	return put(world, number, bytes);
}

static struct hk_job *the_job(const struct world *world)
{
	struct hk_job *job = hk_job_find(world->collector, KEY);
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
