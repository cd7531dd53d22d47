/* SIGBUS: guarded ranges read zeros, everything else goes where it went before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring/guard.h"

#define BYTES 16384u

static int previous_calls;

/* Somebody else's handler, which repairs what it is called for: puts memory there, full of 'z'. */
static void on_previous(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	previous_calls++;
	if (info->si_code > 0) {
		char *page = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)4095);
		mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
		memset(page, 'z', 4096);
	}
}

static void install_previous(void)
{
	struct sigaction action = {.sa_sigaction = on_previous, .sa_flags = SA_SIGINFO};

	previous_calls = 0;
	assert_int_equal(sigaction(SIGBUS, &action, NULL), 0);
}

/* A mapping of a file that can be cut. */
static volatile char *map_file(int *ret_fd)
{
	int fd = memfd_create("guard", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	char *map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	memset(map, 'x', BYTES);
	*ret_fd = fd;
	return map;
}

static void test_shrunk_file_reads_zeros_and_poisons_only_itself(void **state)
{
	struct hk_guard *guards[2];
	volatile char *maps[2];
	int fds[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		maps[i] = map_file(&fds[i]);
		assert_int_equal(hk_guard_add((void *)maps[i], BYTES, &guards[i]), 0);
	}
	assert_int_equal(ftruncate(fds[0], 4096), 0);
	assert_int_equal(maps[0][0], 'x');
	assert_false(hk_guard_poisoned(guards[0]));
	assert_int_equal(maps[0][8192], 0);
	assert_true(hk_guard_poisoned(guards[0]));
	assert_int_equal(maps[0][0], 0);
	maps[0][BYTES - 1] = 'y';
	assert_int_equal(maps[1][8192], 'x');
	assert_false(hk_guard_poisoned(guards[1]));
	for (int i = 0; i < 2; i++) {
		hk_guard_remove(guards[i]);
		munmap((void *)maps[i], BYTES);
		close(fds[i]);
	}
	hk_guard_remove(NULL);
}

static void test_guard_is_reused_clean(void **state)
{
	(void)state;
	for (int round = 0; round < 100; round++) {
		struct hk_guard *guard;
		int fd;
		volatile char *map = map_file(&fd);
		assert_int_equal(hk_guard_add((void *)map, BYTES, &guard), 0);
		assert_false(hk_guard_poisoned(guard));
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(map[round], 0);
		assert_true(hk_guard_poisoned(guard));
		hk_guard_remove(guard);
		munmap((void *)map, BYTES);
		close(fd);
	}
}

static void test_other_faults_reach_the_previous_handler(void **state)
{
	struct hk_guard *guard;
	int fds[2];
	volatile char *guarded = map_file(&fds[0]);
	volatile char *bare = map_file(&fds[1]);

	(void)state;
	install_previous();
	assert_int_equal(hk_guard_add((void *)guarded, BYTES, &guard), 0);
	assert_int_equal(ftruncate(fds[1], 0), 0);
	assert_int_equal(bare[0], 'z');
	assert_int_equal(previous_calls, 1);
	assert_false(hk_guard_poisoned(guard));
	/* A signal that a process sends is no fault, whatever address it carries. */
	raise(SIGBUS);
	assert_int_equal(previous_calls, 2);
	assert_false(hk_guard_poisoned(guard));
	/* Removed: its own faults are foreign too. */
	hk_guard_remove(guard);
	assert_int_equal(ftruncate(fds[0], 0), 0);
	assert_int_equal(guarded[0], 'z');
	assert_int_equal(previous_calls, 3);
	munmap((void *)guarded, BYTES);
	munmap((void *)bare, BYTES);
	close(fds[0]);
	close(fds[1]);
}

static void test_handler_put_over_ours_is_chained(void **state)
{
	struct hk_guard *guards[2];
	int fd;
	volatile char *map = map_file(&fd);

	(void)state;
	assert_int_equal(hk_guard_add((void *)map, 4096, &guards[0]), 0);
	install_previous();
	assert_int_equal(hk_guard_add((void *)(map + 4096), 4096, &guards[1]), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(map[0], 0);
	assert_int_equal(map[4096], 0);
	assert_int_equal(previous_calls, 0);
	assert_int_equal(map[8192], 'z');
	assert_int_equal(previous_calls, 1);
	hk_guard_remove(guards[0]);
	hk_guard_remove(guards[1]);
	munmap((void *)map, BYTES);
	close(fd);
}

/* Without a previous handler a foreign fault must still kill. In a child of its own, before any
 * guard exists here. */
static void test_default_action_still_kills(void **state)
{
	int status;

	(void)state;
	pid_t child = fork();
	if (child == 0) {
		struct hk_guard *guard;
		int fds[2];
		signal(SIGBUS, SIG_DFL);
		volatile char *guarded = map_file(&fds[0]);
		volatile char *bare = map_file(&fds[1]);
		alarm(600);
		if (hk_guard_add((void *)guarded, BYTES, &guard) < 0 || ftruncate(fds[1], 0) < 0) {
			_exit(1);
		}
		(void)bare[0];
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_default_action_still_kills),
	    cmocka_unit_test(test_other_faults_reach_the_previous_handler),
	    cmocka_unit_test(test_shrunk_file_reads_zeros_and_poisons_only_itself),
	    cmocka_unit_test(test_guard_is_reused_clean),
	    cmocka_unit_test(test_handler_put_over_ours_is_chained),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
