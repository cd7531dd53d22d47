/* The program that reads stacks by ptrace, which here is this one in another role, may outlive its
 * end by SIGKILL. A tracer of its own keeps it, as a file server would. */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/stack/traced.h"

#define PATIENCE_S 60 /* after which a test that waits has failed */

/* Traces the process that forked it, says its own number, and stays. */
static void keep(pid_t parent)
{
	if (ptrace(PTRACE_SEIZE, parent, NULL, NULL) == 0) {
		printf("%d not kept\n", (int)getpid());
		fflush(stdout);
	}
	pause();
	_exit(0);
}

static int be_kept(void)
{
	pid_t parent = getpid();

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (fork() == 0) {
		alarm(PATIENCE_S);
		keep(parent);
	}
	pause();
	return 0;
}

static void test_program_that_does_not_end_is_not_waited_for(void **state)
{
	const uint32_t tid = 1;
	struct hk_traced_answer answer;
	struct hk_traced *traced = NULL;
	int r = 0;

	(void)state;
	alarm(PATIENCE_S);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(hk_traced_open(1, &tid, 1, &traced), 0);
		while ((r = hk_traced_next(traced, &answer)) == 0) {
			usleep(1000);
		}
		assert_int_equal(r, 1);
		assert_null(hk_traced_free(traced));
		kill((pid_t)answer.tid, SIGKILL);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_program_that_does_not_end_is_not_waited_for),
	};

	return argc > 1 && strcmp(argv[1], HK_UNWIND_WORD) == 0
		   ? be_kept()
		   : cmocka_run_group_tests(tests, NULL, NULL);
}
