/* Threads as the kernel lists them: its text, damaged texts, and this process's own threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/proc/tasks.h"

static const char good[] = "Name:\tpool) State: Z\n"
			   "Umask:\t0022\n"
			   "State:\tS (sleeping)\n"
			   "Tgid:\t100\n"
			   "Pid:\t101\n"
			   "TracerPid:\t77\n"
			   "NSpid:\t101\t12\t3\n"
			   "SigBlk:\t0000000000400000\n"
			   "SigIgn:\t0000000000000000\n"
			   "SigCgt:\t0000000000000200\n";

static void test_text_is_parsed(void **state)
{
	struct hk_task task;

	(void)state;
	assert_int_equal(hk_task_parse(good, SIGURG, &task), 0);
	assert_string_equal(task.name, "pool) State: Z");
	assert_int_equal(task.tid, 101);
	assert_int_equal(task.inner, 3);
	assert_int_equal(task.tracer, 77);
	assert_int_equal(task.state, 'S');
	assert_true(task.blocked);
	assert_false(task.caught);
	assert_int_equal(hk_task_parse(good, SIGUSR1, &task), 0);
	assert_false(task.blocked);
	assert_true(task.caught);
}

/* Cut anywhere, the text is refused or has what it had up to there. */
static void test_cut_text_is_no_crash(void **state)
{
	struct hk_task task;
	char text[sizeof(good)];

	(void)state;
	for (size_t length = 0; length < sizeof(good); length++) {
		memcpy(text, good, length);
		text[length] = '\0';
		int r = hk_task_parse(text, SIGURG, &task);
		assert_true(r < 0 || task.state == 'S');
	}
	assert_true(hk_task_parse("", SIGURG, &task) < 0);
	assert_true(hk_task_parse("\n\n\n", SIGURG, &task) < 0);
}

static pthread_barrier_t come, leave;

static void *stay(void *ret_tid)
{
	sigset_t urgent;
	sigemptyset(&urgent);
	sigaddset(&urgent, SIGURG);
	pthread_sigmask(SIG_BLOCK, &urgent, NULL);
	prctl(PR_SET_NAME, "sleeper");
	*(uint32_t *)ret_tid = (uint32_t)syscall(SYS_gettid);
	pthread_barrier_wait(&come);
	pthread_barrier_wait(&leave);
	return NULL;
}

static void test_own_threads_are_listed(void **state)
{
	struct hk_task *tasks;
	pthread_t thread;
	size_t count;
	uint32_t tid;

	(void)state;
	signal(SIGURG, SIG_DFL);
	pthread_barrier_init(&come, NULL, 2);
	pthread_barrier_init(&leave, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, stay, &tid), 0);
	pthread_barrier_wait(&come);
	assert_int_equal(hk_tasks_list((uint32_t)getpid(), SIGURG, &tasks, &count), 0);
	assert_true(count >= 2); /* a sanitizer may have a thread of its own */
	assert_int_equal(tasks[0].tid, getpid());
	assert_false(tasks[0].blocked);
	assert_int_equal(tasks[0].state, 'R');
	const struct hk_task *sleeper = &tasks[1];
	while (sleeper < tasks + count && sleeper->tid != tid) {
		sleeper++;
	}
	assert_true(sleeper < tasks + count);
	assert_string_equal(sleeper->name, "sleeper");
	assert_true(sleeper->blocked);
	free(tasks);
	pthread_barrier_wait(&leave);
	pthread_join(thread, NULL);
	assert_true(hk_tasks_list(0, SIGURG, &tasks, &count) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_text_is_parsed),
	    cmocka_unit_test(test_cut_text_is_no_crash),
	    cmocka_unit_test(test_own_threads_are_listed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
