/* Frames of a message by number: Python functions, and messages that contradict themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/model/stacks.h"
#include "ring/segment.h"

static uint32_t caller[] = {0, 1, 2, 3}, object[] = {1, 0x80000001u, 0x80000002u, 0x80000009u};
static uint64_t address[] = {0x1000, 42, 0, 7};
static char *files[] = {"/home/me/run.py"};
static char *names[] = {"Class.method", "odd"};
static uint32_t file[] = {1, 9}, first_line[] = {40, 3};
static Hk__StackFrames frames;
static Hk__StackFrames *frame_parts[] = {&frames};
static Hk__PythonFunctions functions;
static Hk__PythonFunctions *function_parts[] = {&functions};
static Hk__StackObject library;
static Hk__StackObject *objects[] = {&library};
static Hk__Process process;

static int setup(void **state)
{
	(void)state;
	hk__process__init(&process);
	hk__stack_frames__init(&frames);
	hk__python_functions__init(&functions);
	hk__stack_object__init(&library);
	library.number = 1;
	library.path = "/usr/lib/libpython.so";
	frames.caller = caller;
	frames.object = object;
	frames.address = address;
	frames.n_caller = frames.n_object = frames.n_address = 4;
	functions.files = files;
	functions.file = file;
	functions.name = names;
	functions.first_line = first_line;
	functions.n_files = 1;
	functions.n_file = functions.n_name = functions.n_first_line = 2;
	process.stack_frames = frame_parts;
	process.python_functions = function_parts;
	process.stack_objects = objects;
	process.n_stack_frames = process.n_python_functions = process.n_stack_objects = 1;
	return 0;
}

static void test_python_frame_has_file_line_and_name(void **state)
{
	struct hk_stacks_frame frame;

	(void)state;
	assert_true(hk_stacks_valid(&process));
	assert_true(hk_stacks_frame(&process, 2, &frame));
	assert_true(hk_stacks_is_python(&frame));
	assert_string_equal(frame.name, "Class.method");
	assert_string_equal(frame.path, "/home/me/run.py");
	assert_int_equal(frame.address, 42);
	assert_int_equal(frame.first_line, 40);
	assert_int_equal(frame.caller, 1);
	assert_true(hk_stacks_frame(&process, 1, &frame));
	assert_false(hk_stacks_is_python(&frame));
	assert_string_equal(frame.path, "/usr/lib/libpython.so");
}

static void test_what_is_not_there_is_empty(void **state)
{
	struct hk_stacks_frame frame;

	(void)state;
	assert_true(hk_stacks_frame(&process, 3, &frame)); /* a file that is not there */
	assert_string_equal(frame.name, "odd");
	assert_string_equal(frame.path, "");
	assert_true(hk_stacks_frame(&process, 4, &frame)); /* a function that is not there */
	assert_true(hk_stacks_is_python(&frame));
	assert_string_equal(frame.name, "");
	object[3] = HK_STACKS_OBJECT_PYTHON; /* number 0 */
	assert_true(hk_stacks_frame(&process, 4, &frame));
	assert_string_equal(frame.name, "");
	object[3] = HK_STACKS_OBJECT_END;
	assert_true(hk_stacks_frame(&process, 4, &frame));
	assert_false(hk_stacks_is_python(&frame));
	assert_false(hk_stacks_frame(&process, 5, &frame));
}

static void test_columns_of_different_length_are_invalid(void **state)
{
	(void)state;
	functions.n_file = 1;
	assert_false(hk_stacks_valid(&process));
	functions.n_file = 2;
	functions.n_first_line = 3;
	assert_false(hk_stacks_valid(&process));
	functions.n_first_line = 2;
	functions.part = 1;
	assert_false(hk_stacks_valid(&process));
	functions.part = 0;
	functions.n_name = functions.n_file = functions.n_first_line = 0;
	assert_false(hk_stacks_valid(&process));
}

static void test_reasons_are_named(void **state)
{
	char text[128];

	(void)state;
	assert_false(hk_stacks_without_python(&process, text, sizeof(text)));
	process.python = (uint64_t)HK_PYTHON_READ << 32 | 0x030c;
	assert_false(hk_stacks_without_python(&process, text, sizeof(text)));
	process.python = (uint64_t)HK_PYTHON_UNKNOWN << 32 | 0x030e;
	assert_true(hk_stacks_without_python(&process, text, sizeof(text)));
	assert_string_equal(text, "no frames of Python 3.14 in stacks: the structures of this "
				  "version are not known");
	process.python = (uint64_t)HK_PYTHON_UNKNOWN << 32;
	assert_true(hk_stacks_without_python(&process, text, sizeof(text)));
	assert_string_equal(text, "no frames of Python in stacks: it is older than 3.8");
	process.python = UINT64_MAX;
	assert_true(hk_stacks_without_python(&process, text, sizeof(text)));
	assert_string_equal(text, "no frames of Python 255.255 in stacks: the reason is unknown to "
				  "this version");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_python_frame_has_file_line_and_name, setup),
	    cmocka_unit_test_setup(test_what_is_not_there_is_empty, setup),
	    cmocka_unit_test_setup(test_columns_of_different_length_are_invalid, setup),
	    cmocka_unit_test_setup(test_reasons_are_named, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
