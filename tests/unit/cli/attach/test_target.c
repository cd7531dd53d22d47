/* Why a process cannot be traced. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/attach/target.h"

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (;;) {
			pause();
		}
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) == pid) {
	}
}

static void test_a_tracer_is_named_when_ptrace_is_refused(void **state)
{
	char why[HK_ATTACH_WHY_BYTES], expected[64];
	struct hk_target target = {.pid = sleeper(), .uid = geteuid()};

	(void)state;
	if (ptrace(PTRACE_SEIZE, target.pid, NULL, NULL) < 0) {
		end(target.pid);
		skip(); /* no ptrace here */
	}
	hk_target_explain(&target, EPERM, why);
	snprintf(expected, sizeof(expected), "is held by process %d", (int)getpid());
	assert_non_null(strstr(why, expected));
	end(target.pid);
}

static void test_a_process_lives_until_it_ends(void **state)
{
	char why[HK_ATTACH_WHY_BYTES];
	struct hk_target target;
	siginfo_t info;
	pid_t pid = sleeper();

	(void)state;
	assert_int_equal(hk_target_examine(pid, &target, why), 0);
	assert_true(hk_target_lives(&target));
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(hk_target_lives(&target));
	waitpid(pid, NULL, 0);
	assert_false(hk_target_lives(&target));
	hk_target_free(&target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_tracer_is_named_when_ptrace_is_refused),
	    cmocka_unit_test(test_a_process_lives_until_it_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
