/* Requests for stacks: asked, answered by the named thread only, taken back unless a thread writes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "ring/reader.h"
#include "segment_maker.h"

static struct segment_maker maker;
static struct hk_reader *reader;

static int setup(void **state)
{
	(void)state;
	segment_maker_init(&maker, 256);
	return hk_reader_open(maker.dirfd, maker.name, &reader);
}

static int teardown(void **state)
{
	(void)state;
	hk_reader_free(reader);
	segment_maker_fini(&maker);
	return 0;
}

static struct hk_ask *ask_of(uint32_t number)
{
	return (struct hk_ask *)(void *)(maker.map + HK_ASK_OFFSET) + number;
}

/* As the agent's handler does. */
static void write_answer(struct hk_ask *ask, uint32_t tid, uint32_t count)
{
	ask->count = count;
	ask->end = 2;
	ask->ticks = 99;
	for (uint32_t i = 0; i < HK_ASK_FRAMES; i++) {
		ask->address[i] = 1000 + i;
	}
	atomic_store(&ask->state, (uint64_t)tid << 32 | HK_ASK_ANSWERED);
}

static void test_thread_is_asked_and_answers(void **state)
{
	struct hk_ask_copy answer;

	(void)state;
	assert_int_equal(hk_reader_ask(reader, 1, 77), 0);
	assert_int_equal(atomic_load(&ask_of(1)->state), 77ull << 32 | HK_ASK_ASKED);
	assert_int_equal(hk_reader_answer(reader, 1, 77, &answer), 0);
	write_answer(ask_of(1), 77, 3);
	assert_int_equal(hk_reader_answer(reader, 1, 78, &answer), 0);
	assert_int_equal(hk_reader_answer(reader, 0, 77, &answer), 0);
	assert_int_equal(hk_reader_answer(reader, 1, 77, &answer), 1);
	assert_int_equal(answer.count, 3);
	assert_int_equal(answer.end, 2);
	assert_int_equal(answer.ticks, 99);
	assert_int_equal(answer.address[2], 1002);
}

static void test_count_is_bounded(void **state)
{
	struct hk_ask_copy answer;

	(void)state;
	assert_int_equal(hk_reader_ask(reader, 0, 5), 0);
	write_answer(ask_of(0), 5, UINT32_MAX);
	assert_int_equal(hk_reader_answer(reader, 0, 5, &answer), 1);
	assert_int_equal(answer.count, HK_ASK_FRAMES);
}

static void test_request_of_a_dead_collector_is_replaced(void **state)
{
	(void)state;
	atomic_store(&ask_of(0)->state, 4ull << 32 | HK_ASK_ASKED);
	assert_int_equal(hk_reader_ask(reader, 0, 5), 0);
	assert_true(hk_reader_unask(reader, 0));
	assert_int_equal(atomic_load(&ask_of(0)->state), HK_ASK_FREE);
}

static void test_writing_thread_keeps_its_place(void **state)
{
	uint64_t writing = 4ull << 32 | HK_ASK_WRITING;

	(void)state;
	atomic_store(&ask_of(0)->state, writing);
	assert_int_equal(hk_reader_ask(reader, 0, 5), -EBUSY);
	assert_false(hk_reader_unask(reader, 0));
	assert_int_equal(atomic_load(&ask_of(0)->state), writing);
}

static void test_status_has_signal(void **state)
{
	struct hk_segment_status status;

	(void)state;
	atomic_store(&segment_maker_header(&maker)->ask_signal, 23);
	atomic_store(&segment_maker_header(&maker)->ask_refusal, HK_ASK_TAKEN);
	assert_int_equal(hk_reader_refresh(reader, &status), 0);
	assert_int_equal(status.ask_signal, 23);
	assert_int_equal(status.ask_refusal, HK_ASK_TAKEN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(test_thread_is_asked_and_answers),
	    TEST(test_count_is_bounded),
	    TEST(test_request_of_a_dead_collector_is_replaced),
	    TEST(test_writing_thread_keeps_its_place),
	    TEST(test_status_has_signal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
