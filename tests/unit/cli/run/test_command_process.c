/* The traced command: status, signals, failure to execute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "cli/run/command_process.h"

static struct hk_command_process_end run_shell(const char *script, int signal_to_us)
{
	char *arguments[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
	struct hk_command_process_end end = {0};
	struct hk_command_process child;

	assert_int_equal(hk_command_process_prepare(&child, "/bin/sh", arguments, environ, false),
			 0);
	assert_int_equal(hk_command_process_start(&child), 0);
	if (signal_to_us) {
		/* Blocked here, so it waits until hk_command_process_wait passes it on. */
		assert_int_equal(kill(getpid(), signal_to_us), 0);
	}
	assert_int_equal(hk_command_process_wait(&child, NULL, &end), 0);
	sigprocmask(SIG_UNBLOCK, &child.signals, NULL);
	return end;
}

static void test_status_is_the_commands(void **state)
{
	(void)state;
	struct hk_command_process_end end = run_shell("exit 42", 0);
	assert_false(end.signaled);
	assert_int_equal(end.code, 42);
	end = run_shell("kill -9 $$", 0);
	assert_true(end.signaled);
	assert_int_equal(end.code, 9);
}

static void test_signals_are_passed_on(void **state)
{
	(void)state;
	/* Whenever the signal comes, before the trap or after, the shell ends by it. */
	struct hk_command_process_end end = run_shell("read never < /dev/zero", SIGTERM);
	assert_true(end.signaled);
	assert_int_equal(end.code, SIGTERM);
}

static void test_signal_mask_is_as_before(void **state)
{
	(void)state;
	struct hk_command_process_end end =
	    run_shell("grep -q 'SigBlk:.*0000000000000000' /proc/self/status", 0);
	assert_int_equal(end.code, 0);
}

static void test_what_cannot_run_is_told(void **state)
{
	char *arguments[] = {(char *)"none", NULL};
	struct hk_command_process child;
	(void)state;
	assert_int_equal(
	    hk_command_process_prepare(&child, "/nonexistent/none", arguments, environ, false), 0);
	assert_int_equal(hk_command_process_start(&child), -ENOENT);
	sigprocmask(SIG_UNBLOCK, &child.signals, NULL);
}

static void test_cancelled_child_never_runs(void **state)
{
	char *arguments[] = {(char *)"sh", (char *)"-c", (char *)"echo ran >&9", NULL};
	struct hk_command_process child;
	int pipes[2];
	char byte;
	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(dup2(pipes[1], 9), 9);
	close(pipes[1]);
	assert_int_equal(hk_command_process_prepare(&child, "/bin/sh", arguments, environ, true),
			 0);
	hk_command_process_cancel(&child);
	close(9);
	assert_int_equal(read(pipes[0], &byte, 1), 0);
	close(pipes[0]);
	sigprocmask(SIG_UNBLOCK, &child.signals, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_status_is_the_commands),
	    cmocka_unit_test(test_signals_are_passed_on),
	    cmocka_unit_test(test_signal_mask_is_as_before),
	    cmocka_unit_test(test_what_cannot_run_is_told),
	    cmocka_unit_test(test_cancelled_child_never_runs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
