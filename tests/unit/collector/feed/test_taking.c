/* Messages of a stream: what is missing is searched for, and then done without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "collector/feed/taking.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_save.h"
#include "collector/link/peers.h"
#include "collector/model/collector.h"
#include "collector/model/remote.h"
#include "leaf_maker.h"
#include "wire/message.h"
#include "world.h"

#define SECOND UINT64_C(1000000000)

struct feeding {
	struct world world;
	struct hk_taking taking;
};

static void begin(struct feeding *feeding)
{
	*feeding = (struct feeding){.taking = {.partition = 3, .begin = 10}};
	world_make(&feeding->world);
}

static void end(struct feeding *feeding)
{
	hk_taking_fini(&feeding->taking);
	world_remove(&feeding->world);
}

static int take(struct feeding *feeding, uint64_t sequence, bool searched,
		const Hk__Request *request)
{
	uint8_t *bytes;
	size_t size;
	assert_int_equal(hk_message_pack(&request->base, &bytes, &size), 0);
	const struct hk_source_message message = {.sequence = sequence,
						  .subject = "s",
						  .bytes = bytes,
						  .size = size,
						  .part = 1,
						  .parts = 1,
						  .searched = searched};
	int r = hk_taking_take(&feeding->taking, feeding->world.collector, &message, SECOND);
	free(bytes);
	return r;
}

static int report_if(struct feeding *feeding, uint64_t sequence, uint64_t number, bool searched)
{
	Hk__Request request = HK__REQUEST__INIT;
	request.what_case = HK__REQUEST__WHAT_REPORT;
	request.report = leaf_report(number);
	int r = take(feeding, sequence, searched, &request);
	hk__leaf_report__free_unpacked(request.report, NULL);
	return r;
}

static int report(struct feeding *feeding, uint64_t sequence, uint64_t number)
{
	return report_if(feeding, sequence, number, false);
}

static int chunk_if(struct feeding *feeding, uint64_t sequence, uint64_t number, bool searched)
{
	Hk__Request request = HK__REQUEST__INIT;
	Hk__ChunkPut put = HK__CHUNK_PUT__INIT;
	uint8_t bytes[HK_CHUNK_HEADER_BYTES];
	leaf_chunk(number, bytes);
	request.what_case = HK__REQUEST__WHAT_CHUNK;
	request.chunk = &put;
	put.job = (char *)(uintptr_t)LEAF_KEY;
	put.process = (ProtobufCBinaryData){HK_UID_BYTES, leaf_process};
	put.number = number;
	put.chunk = (ProtobufCBinaryData){sizeof(bytes), bytes};
	return take(feeding, sequence, searched, &request);
}

static int chunk(struct feeding *feeding, uint64_t sequence, uint64_t number)
{
	return chunk_if(feeding, sequence, number, false);
}

static uint64_t last_chunk(const struct feeding *feeding)
{
	return hk_job_find(feeding->world.collector, LEAF_KEY)->processes->remote->last_chunk;
}

static void test_a_chunk_that_was_left_out_is_searched_for(void **state)
{
	struct feeding feeding;
	char subject[HK_SUBJECT_BYTES];
	(void)state;
	begin(&feeding);
	hk_subject_chunk(3, leaf_node, leaf_process, subject);
	assert_int_equal(report(&feeding, 11, 1), 0);
	assert_int_equal(chunk(&feeding, 12, 1), 0);
	assert_int_equal(report(&feeding, 14, 2), 0);
	assert_int_equal(chunk(&feeding, 15, 3), HK_TAKING_SEARCH);
	assert_string_equal(feeding.taking.subject, subject);
	assert_int_equal(feeding.taking.behind, 12);
	assert_int_equal(feeding.taking.before, 15);
	assert_int_equal(last_chunk(&feeding), 1);
	/* It was there. */
	assert_int_equal(chunk(&feeding, 13, 2), 0);
	assert_int_equal(chunk_if(&feeding, 15, 3, true), 0);
	assert_int_equal(last_chunk(&feeding), 3);
	end(&feeding);
}

static void test_a_chunk_that_is_nowhere_is_done_without(void **state)
{
	struct feeding feeding;
	(void)state;
	begin(&feeding);
	assert_int_equal(report(&feeding, 11, 1), 0);
	assert_int_equal(chunk(&feeding, 12, 1), 0);
	assert_int_equal(chunk(&feeding, 15, 3), HK_TAKING_SEARCH);
	assert_int_equal(chunk_if(&feeding, 15, 3, true), 0);
	assert_int_equal(last_chunk(&feeding), 3);
	/* The next gap is another one. */
	assert_int_equal(chunk(&feeding, 20, 6), HK_TAKING_SEARCH);
	assert_int_equal(feeding.taking.behind, 15);
	end(&feeding);
}

static void test_a_report_that_was_left_out_is_searched_for(void **state)
{
	struct feeding feeding;
	char subject[HK_SUBJECT_BYTES];
	(void)state;
	begin(&feeding);
	hk_subject_report(3, leaf_node, subject);
	assert_int_equal(report(&feeding, 11, 1), 0);
	assert_int_equal(report(&feeding, 13, 3), HK_TAKING_SEARCH);
	assert_string_equal(feeding.taking.subject, subject);
	assert_int_equal(feeding.taking.behind, 11);
	assert_int_equal(report(&feeding, 12, 2), 0);
	assert_int_equal(report_if(&feeding, 13, 3, true), 0);
	/* A leaf that lost its connection gives reports up and uses the next number. */
	assert_int_equal(report(&feeding, 15, 5), HK_TAKING_SEARCH);
	assert_int_equal(report_if(&feeding, 15, 5, true), 0);
	assert_int_equal(report(&feeding, 16, 6), 0);
	end(&feeding);
}

/* A leaf that restarts counts from 1 in an epoch of its own; a root that begins knows no number. */
static void test_the_first_report_that_is_read_may_have_any_number(void **state)
{
	struct feeding feeding;
	(void)state;
	begin(&feeding);
	assert_int_equal(report(&feeding, 11, 7), 0);
	assert_int_equal(report(&feeding, 12, 7), 0);
	end(&feeding);
}

static void test_a_root_that_takes_over_knows_the_last_report(void **state)
{
	struct feeding feeding;
	(void)state;
	begin(&feeding);
	assert_int_equal(report(&feeding, 11, 1), 0);
	assert_int_equal(report(&feeding, 12, 2), 0);
	hk_job_save(feeding.world.collector, hk_job_find(feeding.world.collector, LEAF_KEY));
	world_restart(&feeding.world);
	assert_int_equal(report(&feeding, 14, 4), HK_TAKING_SEARCH);
	assert_int_equal(feeding.taking.behind, 10);
	assert_int_equal(report(&feeding, 13, 3), 0);
	assert_int_equal(report_if(&feeding, 14, 4, true), 0);
	end(&feeding);
}

/* The report that names the process was left out: that shows with the next one. */
static void test_a_chunk_waits_for_the_report_that_names_its_process(void **state)
{
	struct feeding feeding;
	(void)state;
	begin(&feeding);
	assert_int_equal(chunk(&feeding, 12, 1), 0);
	assert_int_equal(hk_taking_oldest(&feeding.taking), 12);
	assert_int_equal(report(&feeding, 13, 2), 0);
	assert_int_equal(last_chunk(&feeding), 1);
	assert_int_equal(hk_taking_oldest(&feeding.taking), UINT64_MAX);
	/* Not for ever. */
	leaf_process[0]++;
	assert_int_equal(chunk(&feeding, 14, 1), 0);
	leaf_process[0]--;
	hk_taking_expire(&feeding.taking, feeding.world.collector, SECOND);
	assert_int_equal(hk_taking_oldest(&feeding.taking), 14);
	hk_taking_expire(&feeding.taking, feeding.world.collector, 2 * SECOND);
	assert_int_equal(hk_taking_oldest(&feeding.taking), UINT64_MAX);
	end(&feeding);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_chunk_that_was_left_out_is_searched_for),
	    cmocka_unit_test(test_a_chunk_that_is_nowhere_is_done_without),
	    cmocka_unit_test(test_a_report_that_was_left_out_is_searched_for),
	    cmocka_unit_test(test_the_first_report_that_is_read_may_have_any_number),
	    cmocka_unit_test(test_a_root_that_takes_over_knows_the_last_report),
	    cmocka_unit_test(test_a_chunk_waits_for_the_report_that_names_its_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
