/* What another program says and how it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/target/run_capture.h"

static int shell(const char *script, int timeout_ms, char *text, size_t size)
{
	const char *const arguments[] = {"sh", "-c", script, NULL};

	return hk_capture(arguments, environ, timeout_ms, text, size);
}

static void test_output_and_status(void **state)
{
	char text[64];

	(void)state;
	assert_int_equal(shell("echo one; echo two >&2; exit 7", 60000, text, sizeof(text)), 7);
	assert_string_equal(text, "one\ntwo\n");
	assert_int_equal(shell("kill -TERM $$", 60000, text, sizeof(text)), 128 + SIGTERM);
	assert_string_equal(text, "");
}

static void test_long_output_is_cut_but_read(void **state)
{
	char text[16];

	(void)state;
	assert_int_equal(shell("i=0; while [ $i -lt 20000 ]; do echo 123456789; i=$((i+1)); done",
			       60000, text, sizeof(text)),
			 0);
	assert_string_equal(text, "123456789\n12345");
}

static void test_program_that_hangs_is_killed(void **state)
{
	char text[16];

	(void)state;
	assert_int_equal(shell("echo here; exec sleep 600", 200, text, sizeof(text)), -ETIMEDOUT);
}

static void test_program_that_is_not_there(void **state)
{
	const char *const arguments[] = {"hk-there-is-no-such-program", NULL};
	char text[16];

	(void)state;
	assert_int_equal(hk_capture(arguments, environ, 60000, text, sizeof(text)), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_output_and_status),
	    cmocka_unit_test(test_long_output_is_cut_but_read),
	    cmocka_unit_test(test_program_that_hangs_is_killed),
	    cmocka_unit_test(test_program_that_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
