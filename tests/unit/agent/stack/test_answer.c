/* The handler that answers a request for a thread's stack: on a thread's own stack and on the
 * smallest alternate one, for its own thread only, and without a trace in the program. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "agent/record/process.h"
#include "agent/stack/answer.h"
#include "here.h"

#define FRAMES 512
#define PAGE 4096u
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static _Alignas(64) char segment[HK_BLOCK_BYTES];
static void *expected[FRAMES];
static int expected_count;

static struct hk_segment_header *header(void)
{
	return (struct hk_segment_header *)(void *)segment;
}

static struct hk_ask *ask_of(uint32_t number)
{
	return (struct hk_ask *)(void *)(segment + HK_ASK_OFFSET) + number;
}

static uint64_t state_for(uint32_t tid, enum hk_ask_state state)
{
	return (uint64_t)tid << 32 | state;
}

static uint32_t own_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* Asks this thread by place NUMBER, and takes its stack by another way. */
static __attribute__((noinline)) int take(uint32_t number)
{
	atomic_store(&ask_of(number)->state, state_for(own_tid(), HK_ASK_ASKED));
	expected_count = backtrace(expected, FRAMES);
	return raise(SIGURG) + 1;
}

static __attribute__((noinline)) int recurse(int depth, uint32_t number)
{
	return depth > 0 ? recurse(depth - 1, number) + 1 : take(number);
}

/* Frames behind the innermost ones are equal: the functions of raise, then take's callers. */
static void expect_answer(uint32_t number, uint32_t callers)
{
	const struct hk_ask *ask = ask_of(number);

	assert_int_equal(atomic_load(&ask->state), state_for(own_tid(), HK_ASK_ANSWERED));
	assert_int_equal(ask->end, HK_WALK_WHOLE);
	for (uint32_t i = 1; i <= callers; i++) {
		uint64_t own = ask->address[ask->count - i];
		uint64_t other = (uint64_t)expected[expected_count - (int)i];
		if (own + 1 != other) {
			fail_msg("frame %u from the end: %#lx, expected %#lx", i,
				 (unsigned long)own, (unsigned long)other);
		}
	}
}

static int set_up(void **state)
{
	(void)state;
	dl_iterate_phdr(here_add, NULL);
	hk_process.writer.header = header();
	hk_answer_start();
	return 0;
}

static void test_start_says_which_signal(void **state)
{
	(void)state;
	assert_int_equal(header()->ask_signal, SIGURG);
	assert_true(hk_answer_is_installed());
}

static void test_thread_answers_for_itself(void **state)
{
	(void)state;
	errno = 12345;
	recurse(30, 0);
	assert_int_equal(errno, 12345);
	expect_answer(0, 30);
	recurse(3, 1);
	expect_answer(1, 3);
}

static void test_other_requests_stay(void **state)
{
	const uint64_t left[] = {
	    state_for(own_tid() + 1, HK_ASK_ASKED),
	    state_for(own_tid(), HK_ASK_FREE),
	    state_for(own_tid(), HK_ASK_WRITING),
	    state_for(own_tid(), HK_ASK_ANSWERED),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		atomic_store(&ask_of(0)->state, left[i]);
		raise(SIGURG);
		assert_int_equal(atomic_load(&ask_of(0)->state), left[i]);
	}
}

static void test_deep_stack_is_cut(void **state)
{
	(void)state;
	recurse(1000, 0);
	assert_int_equal(ask_of(0)->count, HK_ASK_FRAMES);
	assert_int_equal(ask_of(0)->end, HK_WALK_DEEP);
}

static size_t room;

static void measure(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	room = (size_t)((char *)context - (char *)((ucontext_t *)context)->uc_stack.ss_sp);
}

/* What the kernel takes of an alternate stack here. */
static size_t frame_bytes(void)
{
	static char bytes[65536];
	const stack_t large = {.ss_sp = bytes, .ss_size = sizeof(bytes)};
	const stack_t none = {.ss_flags = SS_DISABLE};
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};

	action.sa_sigaction = measure;
	assert_int_equal(sigaltstack(&large, NULL), 0);
	assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
	raise(SIGUSR2);
	assert_int_equal(sigaltstack(&none, NULL), 0);
	return sizeof(bytes) - room;
}

/* Answers on an alternate stack with MORE bytes than the kernel takes. It lies directly above a
 * page that cannot be written. Returns false if the kernel refuses so small a stack. */
static bool answer_with(size_t more)
{
	size_t bytes = (frame_bytes() + more + 63) / 64 * 64;
	size_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
	char *map =
	    mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mprotect(map, PAGE, PROT_NONE), 0);
	const stack_t small = {.ss_sp = map + PAGE, .ss_size = bytes};
	const stack_t none = {.ss_flags = SS_DISABLE};
	bool accepted = sigaltstack(&small, NULL) == 0;
	if (accepted) {
		recurse(20, 0);
		assert_int_equal(sigaltstack(&none, NULL), 0);
	}
	munmap(map, pages + PAGE);
	return accepted;
}

static void *on_small_stack(void *unused)
{
	(void)unused;
	size_t more = HK_ANSWER_BYTES + 64;
	while (!answer_with(more)) {
		more += 64;
	}
	expect_answer(0, 20);
	if (answer_with(HK_ANSWER_BYTES / 2)) {
		assert_int_equal(atomic_load(&ask_of(0)->state),
				 state_for(own_tid(), HK_ASK_ANSWERED));
		assert_int_equal(ask_of(0)->count, 0);
	}
	return NULL;
}

/* Linux permits a stack that none of its own frames fit. */
static void test_stack_that_is_too_small_is_not_used(void **state)
{
	static char bytes[2048];
	const stack_t small = {.ss_sp = bytes, .ss_size = sizeof(bytes)};
	const stack_t none = {.ss_flags = SS_DISABLE};

	(void)state;
	hk_answer_note_stack(&small);
	sigaltstack(&small, NULL); /* not everywhere */
	recurse(20, 0);
	sigaltstack(&none, NULL);
	expect_answer(0, 20);
}

static void test_smallest_alternate_stack_is_enough(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	(void)state;
	puts("left out: instrumented code needs more of the stack");
	return;
#endif
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, on_small_stack, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_sealed_process_does_not_answer(void **state)
{
	(void)state;
	uint64_t asked = state_for(own_tid(), HK_ASK_ASKED);
	atomic_store(&ask_of(0)->state, asked);
	hk_process.sealed = true;
	hk_answer_seal();
	raise(SIGURG);
	assert_int_equal(atomic_load(&ask_of(0)->state), asked);
	assert_int_equal(header()->ask_signal, 0);
	assert_int_equal(header()->ask_refusal, HK_ASK_SEALED);
	hk_process.sealed = false;
	hk_answer_resume();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_start_says_which_signal),
	    cmocka_unit_test(test_thread_answers_for_itself),
	    cmocka_unit_test(test_other_requests_stay),
	    cmocka_unit_test(test_deep_stack_is_cut),
	    cmocka_unit_test(test_smallest_alternate_stack_is_enough),
	    cmocka_unit_test(test_stack_that_is_too_small_is_not_used),
	    cmocka_unit_test(test_sealed_process_does_not_answer),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
