/* Members of a job: real processes that join, leave and die in every order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/command_process.h"
#include "cli/run/session_members.h"

static char directory[] = "/tmp/hk-members-XXXXXX";
static int dirfd_of_test;

/* One member in a process of its own: joins, reports, leaves on request, and reports the result. */
struct member {
	pid_t pid;
	int orders, answers;
};

static void member_main(int orders, int answers, int expected, bool leads)
{
	struct hk_session_members members;
	struct hk_command_process child = {0};
	char order;

	sigemptyset(&child.signals);
	sigaddset(&child.signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &child.signals, NULL);
	if (hk_session_members_join(&members, dirfd_of_test, "j", expected, leads) < 0 ||
	    write(answers, "j", 1) != 1 || read(orders, &order, 1) != 1) {
		_exit(99);
	}
	int status = (uint8_t)order;
	child.asked_to_end = status == 128 + SIGTERM;
	bool ends = hk_session_members_leave(&members, &child, &status);
	hk_session_members_fini(&members, ends);
	char answer[2] = {ends ? 'E' : 'l', (char)status};
	_exit(write(answers, answer, 2) == 2 ? 0 : 99);
}

static void member_start(struct member *member, int expected, bool leads)
{
	int orders[2], answers[2];
	char joined;

	assert_int_equal(pipe2(orders, O_CLOEXEC), 0);
	assert_int_equal(pipe2(answers, O_CLOEXEC), 0);
	member->pid = fork();
	assert_true(member->pid >= 0);
	if (member->pid == 0) {
		member_main(orders[0], answers[1], expected, leads);
	}
	close(orders[0]);
	close(answers[1]);
	member->orders = orders[1];
	member->answers = answers[0];
	assert_int_equal(read(member->answers, &joined, 1), 1);
}

static void member_leave(const struct member *member, char status)
{
	assert_int_equal(write(member->orders, &status, 1), 1);
}

/* Waits for the end: whether it ends the job, and the worst status it knows. */
static bool member_end(const struct member *member, int *ret_status)
{
	char answer[2] = {'k', 0};

	if (read(member->answers, answer, 2) == 2) {
		*ret_status = (uint8_t)answer[1];
	}
	waitpid(member->pid, NULL, 0);
	close(member->orders);
	close(member->answers);
	return answer[0] == 'E';
}

static int fresh(void **state)
{
	(void)state;
	unlinkat(dirfd_of_test, "members.j", 0);
	unlinkat(dirfd_of_test, "leader.j", 0);
	return 0;
}

/* A late caller finds that the job was ended and its files are gone. */
static void test_nobody_ends_a_job_again(void **state)
{
	struct member member;
	int status = 0;
	(void)state;
	member_start(&member, 1, false);
	assert_int_equal(unlinkat(dirfd_of_test, "members.j", 0), 0);
	member_leave(&member, 0);
	assert_false(member_end(&member, &status));
	assert_int_not_equal(faccessat(dirfd_of_test, "leader.j", F_OK, 0), 0);
}

/* A member that joins while another one ends the job starts a new one, and ends that. */
static void test_a_new_job_is_ended_too(void **state)
{
	struct hk_session_members old, new;
	struct hk_command_process child = {0};
	int status = 0;
	(void)state;
	assert_int_equal(hk_session_members_join(&old, dirfd_of_test, "j", 1, true), 0);
	assert_true(hk_session_members_leave(&old, &child, &status));
	assert_int_equal(hk_session_members_join(&new, dirfd_of_test, "j", 1, true), 0);
	hk_session_members_fini(&old, true);
	assert_true(hk_session_members_leave(&new, &child, &status));
	hk_session_members_fini(&new, true);
	assert_int_not_equal(faccessat(dirfd_of_test, "members.j", F_OK, 0), 0);
	assert_int_not_equal(faccessat(dirfd_of_test, "leader.j", F_OK, 0), 0);
}

/* Two that both find that they are the last. */
static void test_one_of_the_last_ends_the_job(void **state)
{
	struct hk_session_members a, b;
	struct hk_command_process child = {0};
	int status = 0;
	(void)state;
	assert_int_equal(hk_session_members_join(&a, dirfd_of_test, "j", 1, false), 0);
	assert_int_equal(hk_session_members_join(&b, dirfd_of_test, "j", 1, false), 0);
	assert_false(hk_session_members_leave(&a, &child, &status));
	assert_true(hk_session_members_leave(&b, &child, &status));
	assert_false(hk_session_members_leave(&a, &child, &status));
	hk_session_members_fini(&b, true);
	assert_false(hk_session_members_leave(&a, &child, &status));
	hk_session_members_fini(&a, false);
}

static void test_leader_waits_and_ends(void **state)
{
	struct member members[4];
	int status = 0, other;
	(void)state;
	for (int i = 0; i < 4; i++) {
		member_start(&members[i], 4, i == 0);
	}
	member_leave(&members[0], 0);
	for (int i = 1; i < 4; i++) {
		member_leave(&members[i], i == 2 ? 7 : 0);
		assert_false(member_end(&members[i], &other));
	}
	assert_true(member_end(&members[0], &status));
	assert_int_equal(status, 7);
}

static void test_one_alone_ends_at_once(void **state)
{
	struct member member;
	int status = 0;
	(void)state;
	member_start(&member, 1, true);
	member_leave(&member, 3);
	assert_true(member_end(&member, &status));
	assert_int_equal(status, 3);
}

/* The launcher stops the other ranks only when it sees the status of the failed one. */
static void test_failed_leader_goes_and_last_one_ends(void **state)
{
	struct member members[3];
	int status = 0;
	(void)state;
	for (int i = 0; i < 3; i++) {
		member_start(&members[i], 3, i == 0);
	}
	member_leave(&members[0], 1);
	assert_false(member_end(&members[0], &status));
	member_leave(&members[1], 0);
	assert_false(member_end(&members[1], &status));
	member_leave(&members[2], 0);
	assert_true(member_end(&members[2], &status));
	assert_int_equal(status, 1);
}

static void test_signal_cuts_the_wait_short(void **state)
{
	struct member members[2];
	int status;
	(void)state;
	member_start(&members[0], 2, true);
	member_start(&members[1], 2, false);
	member_leave(&members[0], 0);
	kill(members[0].pid, SIGTERM);
	assert_false(member_end(&members[0], &status));
	kill(members[1].pid, SIGKILL);
	assert_false(member_end(&members[1], &status));
}

/* The launcher kills the leader at once when another one ends. */
static void test_told_members_stay_until_the_leader_ends(void **state)
{
	struct member members[2];
	int status = 0, other;
	(void)state;
	member_start(&members[0], 2, true);
	member_start(&members[1], 2, false);
	member_leave(&members[1], (char)(128 + SIGTERM));
	struct pollfd gone = {.fd = members[1].answers, .events = POLLIN};
	assert_int_equal(poll(&gone, 1, 100), 0);
	member_leave(&members[0], (char)(128 + SIGTERM));
	assert_true(member_end(&members[0], &status));
	assert_int_equal(status, 128 + SIGTERM);
	assert_false(member_end(&members[1], &other));
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(directory)) {
		return -1;
	}
	dirfd_of_test = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd_of_test < 0;
}

static int teardown(void **state)
{
	fresh(state);
	close(dirfd_of_test);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_nobody_ends_a_job_again, fresh),
	    cmocka_unit_test_setup(test_a_new_job_is_ended_too, fresh),
	    cmocka_unit_test_setup(test_one_of_the_last_ends_the_job, fresh),
	    cmocka_unit_test_setup(test_leader_waits_and_ends, fresh),
	    cmocka_unit_test_setup(test_one_alone_ends_at_once, fresh),
	    cmocka_unit_test_setup(test_failed_leader_goes_and_last_one_ends, fresh),
	    cmocka_unit_test_setup(test_signal_cuts_the_wait_short, fresh),
	    cmocka_unit_test_setup(test_told_members_stay_until_the_leader_ends, fresh),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
