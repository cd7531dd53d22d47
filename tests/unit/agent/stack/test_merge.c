/* Orders of native and Python frames, as stacks of each kind of interpreter have them (simulated).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/stack/merge.h"
#include "agent/stack/walk.h"

#define FRAMES 8u
#define WORDS 16u /* of a native frame */
#define EVALUATE 0x1000u
#define OTHER 0x5000u

static uint64_t stack[(FRAMES + 1) * WORDS];
static struct hk_thread_walk walk;
static struct hk_interpreter interpreter;
static struct hk_python_item items[16];
static uint32_t count;
static struct hk_merged merged;

/* Native frames by letter, innermost first: "e" runs Python frames, "n" does not. */
static void make_walk(const char *kinds)
{
	memset(&walk, 0, sizeof(walk));
	memset(stack, 0, sizeof(stack));
	count = 0;
	walk.start = (uint64_t)&stack[WORDS];
	for (; kinds[walk.count]; walk.count++) {
		walk.address[walk.count] =
		    (kinds[walk.count] == 'e' ? EVALUATE : OTHER) + walk.count;
		walk.frame_end[walk.count] = (uint64_t)&stack[(walk.count + 2) * WORDS];
	}
	interpreter.evaluate = (struct hk_span){EVALUATE, EVALUATE + 0x100};
}

/* A word in native frame I. */
static uint64_t *word_in(uint32_t i)
{
	return &stack[(i + 1) * WORDS + 5];
}

static void add_frame(void)
{
	items[count] = (struct hk_python_item){0xc0de00 + count, 0};
	count++;
}

static void add_mark(uint64_t place)
{
	items[count++] = (struct hk_python_item){0, (int64_t)place};
}

/* The order of the frames: digits are native ones, letters Python ones from "a" on. */
static void expect(const char *order, bool deep)
{
	uint32_t number[16], frames = 0;

	for (uint32_t i = 0; i < count; i++) {
		number[i] = frames;
		frames += items[i].code != 0;
	}
	hk_merge(&walk, &interpreter, items, count, deep, &merged);
	assert_int_equal(merged.count, strlen(order));
	for (uint32_t i = 0; i < merged.count; i++) {
		uint32_t frame = merged.frame[i];
		char is = frame & HK_MERGED_PYTHON ? (char)('a' + number[frame & ~HK_MERGED_PYTHON])
						   : (char)('0' + frame);
		assert_int_equal(is, order[i]);
	}
}

static void test_marks_replace_their_native_frame(void **state)
{
	(void)state;
	interpreter.layout.frame_owner = 70;
	make_walk("nenen");
	add_frame();
	add_frame();
	add_mark((uint64_t)word_in(1));
	add_frame();
	add_mark((uint64_t)word_in(3));
	expect("0ab2c4", false);
}

static void test_evaluation_without_frames_stays(void **state)
{
	(void)state;
	interpreter.layout.frame_owner = 70;
	make_walk("nenen");
	add_mark((uint64_t)word_in(1)); /* its last frame was just left */
	add_frame();
	add_mark((uint64_t)word_in(3));
	expect("012a4", false);
}

static void test_frames_of_another_interpreter_stay_native(void **state)
{
	(void)state;
	interpreter.layout.frame_owner = 70;
	make_walk("enen");
	add_frame();
	add_mark((uint64_t)word_in(2));
	expect("01a3", false);
}

static void test_native_part_that_ends_early(void **state)
{
	(void)state;
	interpreter.layout.frame_owner = 70;
	make_walk("ne");
	walk.end = HK_WALK_UNKNOWN;
	add_frame();
	add_mark((uint64_t)word_in(1));
	add_frame();
	add_frame();
	add_mark((uint64_t)word_in(6));
	expect("0abc", false);
}

static void test_python_part_that_is_cut(void **state)
{
	(void)state;
	interpreter.layout.frame_owner = 70;
	make_walk("nenen");
	add_frame();
	add_mark((uint64_t)word_in(1));
	add_frame();
	expect("0a2b", true);
}

static void test_one_frame_an_evaluation(void **state)
{
	(void)state;
	interpreter.layout.frame_owner = 0;
	make_walk("nenene");
	for (uint32_t i = 0; i < 3; i++) {
		add_frame();
		add_mark(0xf0 + i);
	}
	expect("0a2b4c", false);
}

/* An evaluation that has not begun, or one of another interpreter: frames go where they are held.
 */
static void test_more_evaluations_than_frames(void **state)
{
	(void)state;
	interpreter.layout.frame_owner = 0;
	make_walk("nenene");
	add_frame();
	add_mark(0xf0);
	add_frame();
	add_mark(0xf1);
	*word_in(3) = 0xf0;
	*word_in(5) = 0xf1;
	expect("012a4b", false);
	*word_in(1) = 0xf0;
	*word_in(3) = 0;
	expect("0a234b", false);
}

/* Part of the evaluation loop's code lies elsewhere: the order is kept. */
static void test_fewer_evaluations_than_frames(void **state)
{
	(void)state;
	interpreter.layout.frame_owner = 0;
	make_walk("nnnene");
	for (uint32_t i = 0; i < 3; i++) {
		add_frame();
		add_mark(0xf0 + i);
	}
	*word_in(1) = 0xf0;
	*word_in(3) = 0xf1;
	*word_in(5) = 0xf2;
	expect("012ab4c", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_marks_replace_their_native_frame),
	    cmocka_unit_test(test_evaluation_without_frames_stays),
	    cmocka_unit_test(test_frames_of_another_interpreter_stay_native),
	    cmocka_unit_test(test_native_part_that_ends_early),
	    cmocka_unit_test(test_python_part_that_is_cut),
	    cmocka_unit_test(test_one_frame_an_evaluation),
	    cmocka_unit_test(test_more_evaluations_than_frames),
	    cmocka_unit_test(test_fewer_evaluations_than_frames),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
