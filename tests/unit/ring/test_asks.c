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

/* Makes room for Python frames, as a thread does. */
static struct hk_ask_python *make_python(struct hk_ask *ask, uint32_t count)
{
	ask->python_block = segment_maker_add_block(&maker, HK_BLOCK_ASKS);
	ask->python_count = count;
	return (struct hk_ask_python *)(void *)(segment_maker_block(&maker, ask->python_block) + 1);
}

static void test_python_frames_are_copied(void **state)
{
	static struct hk_ask_copy answer;

	(void)state;
	assert_int_equal(hk_reader_ask(reader, 0, 5), 0);
	write_answer(ask_of(0), 5, 4);
	struct hk_ask_python *python = make_python(ask_of(0), 2);
	memcpy(python->text, "\0/a.py\0step", 12);
	python->frame[0] = (struct hk_ask_python_frame){1, 7, 14, 10};
	python->frame[1] = (struct hk_ask_python_frame){1, 7, 0, 10};
	ask_of(0)->address[1] = HK_ASK_PYTHON;
	ask_of(0)->address[2] = HK_ASK_PYTHON | 1;
	assert_int_equal(hk_reader_answer(reader, 0, 5, &answer), 1);
	assert_int_equal(answer.python_count, 2);
	assert_int_equal(answer.address[2], HK_ASK_PYTHON | 1);
	assert_int_equal(answer.address[3], 1003);
	assert_string_equal(answer.python.text + answer.python.frame[0].file, "/a.py");
	assert_string_equal(answer.python.text + answer.python.frame[1].name, "step");
	assert_int_equal(answer.python.frame[0].line, 14);
}

/* Nothing that a process writes leads the reader out of the texts, or to a frame that is not there.
 */
static void test_hostile_python_frames_are_bounded(void **state)
{
	static struct hk_ask_copy answer;
	struct hk_ask *ask = ask_of(0);

	(void)state;
	assert_int_equal(hk_reader_ask(reader, 0, 5), 0);
	write_answer(ask, 5, 3);
	struct hk_ask_python *python = make_python(ask, HK_ASK_PYTHON_FRAMES);
	memset(python, 0xff, sizeof(*python));
	memset(python->text, '\n', sizeof(python->text));
	ask->address[0] = HK_ASK_PYTHON | (HK_ASK_PYTHON_FRAMES - 1);
	ask->address[1] = ~0ull;
	assert_int_equal(hk_reader_answer(reader, 0, 5, &answer), 1);
	for (uint32_t i = 0; i < HK_ASK_PYTHON_FRAMES; i++) {
		assert_int_equal(answer.python.frame[i].file, 0);
		assert_int_equal(answer.python.frame[i].name, 0);
	}
	assert_int_equal(strlen(answer.python.text), 0);
	assert_int_equal(strlen(answer.python.text + 1), HK_ASK_TEXT_BYTES - 2);
	assert_null(strchr(answer.python.text + 1, '\n'));
	const uint32_t block = ask->python_block;
	const uint32_t wrong[][2] = {
	    {block, 0},		 {block, HK_ASK_PYTHON_FRAMES + 1},
	    {block, UINT32_MAX}, {0, 1},
	    {block + 1, 1},	 {255, 1},
	    {UINT32_MAX, 1},	 {segment_maker_add_block(&maker, HK_BLOCK_CODES), 1},
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ask->python_block = wrong[i][0];
		ask->python_count = wrong[i][1];
		assert_int_equal(hk_reader_answer(reader, 0, 5, &answer), 1);
		assert_int_equal(answer.python_count, 0);
		assert_int_equal(answer.address[0], 0);
		assert_int_equal(answer.address[1], ~0ull);
	}
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
	    TEST(test_python_frames_are_copied),
	    TEST(test_hostile_python_frames_are_bounded),
	    TEST(test_request_of_a_dead_collector_is_replaced),
	    TEST(test_writing_thread_keeps_its_place),
	    TEST(test_status_has_signal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
