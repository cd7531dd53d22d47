/* Messages of a stream: what is missing is read again once, and then done without. */
#include <setjmp.h>
#include <stdarg.h>
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
	*feeding = (struct feeding){.taking = {.begin = 10}};
	world_make(&feeding->world);
}

static void end(struct feeding *feeding)
{
	hk_taking_fini(&feeding->taking);
	world_remove(&feeding->world);
}

static int take(struct feeding *feeding, uint64_t sequence, const Hk__Request *request)
{
	uint8_t *bytes;
	size_t size;
	assert_int_equal(hk_message_pack(&request->base, &bytes, &size), 0);
	const struct hk_source_message message = {.sequence = sequence,
						  .subject = "s",
						  .bytes = bytes,
						  .size = size,
						  .part = 1,
						  .parts = 1};
	int r = hk_taking_take(&feeding->taking, feeding->world.collector, &message, SECOND);
	free(bytes);
	return r;
}

static int report(struct feeding *feeding, uint64_t sequence, uint64_t number)
{
	Hk__Request request = HK__REQUEST__INIT;
	request.what_case = HK__REQUEST__WHAT_REPORT;
	request.report = leaf_report(number);
	int r = take(feeding, sequence, &request);
	hk__leaf_report__free_unpacked(request.report, NULL);
	return r;
}

static int chunk(struct feeding *feeding, uint64_t sequence, uint64_t number)
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
	return take(feeding, sequence, &request);
}

static uint64_t last_chunk(const struct feeding *feeding)
{
	return hk_job_find(feeding->world.collector, LEAF_KEY)->processes->remote->last_chunk;
}

static void test_a_chunk_that_was_left_out_is_read_again(void **state)
{
	struct feeding feeding;
	(void)state;
	begin(&feeding);
	assert_int_equal(report(&feeding, 11, 1), 0);
	assert_int_equal(chunk(&feeding, 12, 1), 0);
	assert_int_equal(report(&feeding, 14, 2), 0);
	assert_int_equal(chunk(&feeding, 15, 3), HK_TAKING_AGAIN);
	assert_int_equal(feeding.taking.again, 12);
	assert_int_equal(last_chunk(&feeding), 1);
	/* It was there. */
	assert_int_equal(chunk(&feeding, 13, 2), 0);
	assert_int_equal(report(&feeding, 14, 2), 0);
	assert_int_equal(chunk(&feeding, 15, 3), 0);
	assert_int_equal(last_chunk(&feeding), 3);
	assert_int_equal(feeding.taking.told, 0);
	end(&feeding);
}

static void test_a_chunk_that_is_nowhere_is_done_without(void **state)
{
	struct feeding feeding;
	(void)state;
	begin(&feeding);
	assert_int_equal(report(&feeding, 11, 1), 0);
	assert_int_equal(chunk(&feeding, 12, 1), 0);
	assert_int_equal(chunk(&feeding, 15, 3), HK_TAKING_AGAIN);
	assert_int_equal(chunk(&feeding, 15, 3), 0);
	assert_int_equal(last_chunk(&feeding), 3);
	assert_int_equal(feeding.taking.told, 15);
	assert_int_equal(chunk(&feeding, 16, 4), 0);
	/* The next gap is another one. */
	assert_int_equal(chunk(&feeding, 20, 6), HK_TAKING_AGAIN);
	assert_int_equal(feeding.taking.again, 16);
	end(&feeding);
}

static void test_a_report_that_was_left_out_is_read_again(void **state)
{
	struct feeding feeding;
	(void)state;
	begin(&feeding);
	assert_int_equal(report(&feeding, 11, 1), 0);
	assert_int_equal(report(&feeding, 13, 3), HK_TAKING_AGAIN);
	assert_int_equal(feeding.taking.again, 11);
	assert_int_equal(report(&feeding, 12, 2), 0);
	assert_int_equal(report(&feeding, 13, 3), 0);
	assert_int_equal(report(&feeding, 15, 5), HK_TAKING_AGAIN);
	assert_int_equal(report(&feeding, 15, 5), 0);
	end(&feeding);
}

/* A leaf that lost its connection gives reports up and uses the next number. */
static void test_gaps_that_stay_are_not_searched_in_turns(void **state)
{
	struct feeding feeding;
	(void)state;
	begin(&feeding);
	assert_int_equal(report(&feeding, 11, 1), 0);
	assert_int_equal(chunk(&feeding, 12, 1), 0);
	assert_int_equal(report(&feeding, 13, 3), HK_TAKING_AGAIN);
	assert_int_equal(report(&feeding, 13, 3), 0);
	assert_int_equal(chunk(&feeding, 14, 3), HK_TAKING_AGAIN);
	assert_int_equal(report(&feeding, 11, 1), 0);
	assert_int_equal(chunk(&feeding, 12, 1), 0);
	assert_int_equal(report(&feeding, 13, 3), 0);
	assert_int_equal(chunk(&feeding, 14, 3), 0);
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
	assert_int_equal(feeding.taking.gap, 0);
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
	assert_int_equal(report(&feeding, 14, 4), HK_TAKING_AGAIN);
	assert_int_equal(feeding.taking.again, 10);
	assert_int_equal(report(&feeding, 11, 1), 0);
	assert_int_equal(report(&feeding, 12, 2), 0);
	assert_int_equal(report(&feeding, 13, 3), 0);
	assert_int_equal(report(&feeding, 14, 4), 0);
	end(&feeding);
}

/* The report that names the process was left out: that shows when its chunk has waited. */
static void test_a_chunk_of_an_unknown_process_has_its_report_searched_once(void **state)
{
	struct feeding feeding;
	(void)state;
	begin(&feeding);
	assert_int_equal(chunk(&feeding, 12, 1), 0);
	assert_false(hk_taking_must_search(&feeding.taking, SECOND));
	assert_true(hk_taking_must_search(&feeding.taking, 2 * SECOND));
	assert_int_equal(feeding.taking.again, 10);
	hk_taking_fini(&feeding.taking);
	assert_int_equal(report(&feeding, 11, 1), 0);
	assert_int_equal(chunk(&feeding, 12, 1), 0);
	assert_int_equal(last_chunk(&feeding), 1);
	assert_int_equal(hk_taking_oldest(&feeding.taking), UINT64_MAX);
	end(&feeding);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_chunk_that_was_left_out_is_read_again),
	    cmocka_unit_test(test_a_chunk_that_is_nowhere_is_done_without),
	    cmocka_unit_test(test_a_report_that_was_left_out_is_read_again),
	    cmocka_unit_test(test_gaps_that_stay_are_not_searched_in_turns),
	    cmocka_unit_test(test_the_first_report_that_is_read_may_have_any_number),
	    cmocka_unit_test(test_a_root_that_takes_over_knows_the_last_report),
	    cmocka_unit_test(test_a_chunk_of_an_unknown_process_has_its_report_searched_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
