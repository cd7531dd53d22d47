/* A watched call that does not return restarts the program; a process that only lacked a processor
 * continues. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/uplink/watchdog.h"

#define ANEW "anew"
#define ANEW_STATUS 42
#define ENDED_STATUS 7
#define FEW 20
#define MANY 1000

/* Forks a child that begins a watched call and stops itself. Returns its pid, or 0 in the child
 * once it continues. */
static pid_t watch(void)
{
	static char program[] = "test_watchdog", anew[] = ANEW;
	static char *const arguments[] = {program, anew, NULL};
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		hk_watchdog_open(arguments);
		hk_watchdog_begin();
		raise(SIGSTOP);
	}
	return pid;
}

static void await_stop(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
}

static int status_of(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_time_without_a_processor_does_not_count(void **state)
{
	(void)state;
	pid_t pid = watch();
	if (pid == 0) {
		hk_watchdog_end();
		_exit(ENDED_STATUS);
	}
	await_stop(pid);
	/* So many seconds pass. */
	for (int i = 0; i < FEW; i++) {
		kill(pid, SIGALRM);
	}
	kill(pid, SIGCONT);
	assert_int_equal(status_of(pid), ENDED_STATUS);
}

static void test_a_few_turns_on_the_processor_are_not_seconds(void **state)
{
	(void)state;
	pid_t pid = watch();
	if (pid == 0) {
		/* As of a process that is let run for a moment, once a second. */
		for (int i = 0; i < FEW; i++) {
			raise(SIGALRM);
		}
		hk_watchdog_end();
		_exit(ENDED_STATUS);
	}
	await_stop(pid);
	kill(pid, SIGCONT);
	assert_int_equal(status_of(pid), ENDED_STATUS);
}

static void test_a_call_that_does_not_come_back_begins_anew(void **state)
{
	(void)state;
	pid_t pid = watch();
	if (pid == 0) {
		for (int i = 0; i < MANY; i++) {
			raise(SIGALRM);
		}
		_exit(ENDED_STATUS);
	}
	await_stop(pid);
	kill(pid, SIGCONT);
	assert_int_equal(status_of(pid), ANEW_STATUS);
}

static void test_what_comes_when_the_call_has_ended_does_not_count(void **state)
{
	(void)state;
	pid_t pid = watch();
	if (pid == 0) {
		hk_watchdog_end();
		for (int i = 0; i < MANY; i++) {
			raise(SIGALRM);
		}
		_exit(ENDED_STATUS);
	}
	await_stop(pid);
	kill(pid, SIGCONT);
	assert_int_equal(status_of(pid), ENDED_STATUS);
}

static void test_who_leaves_is_not_kept_by_a_watch(void **state)
{
	(void)state;
	pid_t pid = watch();
	if (pid == 0) {
		hk_watchdog_leave();
		hk_watchdog_begin();
		hk_watchdog_end();
		raise(SIGALRM);
		_exit(ENDED_STATUS);
	}
	await_stop(pid);
	kill(pid, SIGCONT);
	assert_int_equal(status_of(pid), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_time_without_a_processor_does_not_count),
	    cmocka_unit_test(test_a_few_turns_on_the_processor_are_not_seconds),
	    cmocka_unit_test(test_a_call_that_does_not_come_back_begins_anew),
	    cmocka_unit_test(test_what_comes_when_the_call_has_ended_does_not_count),
	    cmocka_unit_test(test_who_leaves_is_not_kept_by_a_watch),
	};
	if (argc > 1 && strcmp(argv[1], ANEW) == 0) {
		return ANEW_STATUS;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
