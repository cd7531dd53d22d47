/* What reaches stderr, read back through a pipe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static int pipe_ends[2];
static int stderr_copy;

static int redirect(void **state)
{
	(void)state;
	assert_int_equal(pipe2(pipe_ends, O_NONBLOCK | O_CLOEXEC), 0);
	stderr_copy = dup(STDERR_FILENO);
	return dup2(pipe_ends[1], STDERR_FILENO) < 0 ? -1 : 0;
}

static int restore(void **state)
{
	(void)state;
	dup2(stderr_copy, STDERR_FILENO);
	close(stderr_copy);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	return 0;
}

static const char *printed(void)
{
	static char text[8192];
	ssize_t got = read(pipe_ends[0], text, sizeof(text) - 1);
	text[got > 0 ? got : 0] = '\0';
	return text;
}

static void test_lines_name_program_and_level(void **state)
{
	(void)state;
	hk_log_setup("hookcollector", HK_LOG_WARNING);
	errno = ENOENT;
	hk_error("cannot open path=%s: %m", "/x");
	assert_int_equal(errno, ENOENT);
	assert_string_equal(
	    printed(), "hookcollector: error: cannot open path=/x: No such file or directory\n");
	hk_warning("n=%d", 7);
	assert_string_equal(printed(), "hookcollector: warning: n=7\n");
	hk_info("unseen");
	hk_debug("unseen");
	assert_string_equal(printed(), "");
	hk_log_setup("cli", HK_LOG_DEBUG);
	hk_info("seen");
	assert_string_equal(printed(), "cli: seen\n");
}

static void test_hostile_text_stays_one_plain_line(void **state)
{
	char text[5000];

	(void)state;
	hk_log_setup("x", HK_LOG_INFO);
	hk_info("%s", "a\nforged\x1b[31m\x7f\tb");
	assert_string_equal(printed(), "x: a?forged?[31m??b\n");
	memset(text, 'y', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	hk_info("%s", text);
	const char *line = printed();
	assert_true(strlen(line) <= 1024);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_lines_name_program_and_level, redirect, restore),
	    cmocka_unit_test_setup_teardown(test_hostile_text_stays_one_plain_line, redirect,
					    restore),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
