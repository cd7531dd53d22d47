/* Walks of stacks of many shapes, frame by frame the same as by glibc's backtrace(). */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <execinfo.h>
#include <sys/mman.h>

#include "here.h"

#define FRAMES 512
/* A clone of a function would have another name. */
#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static struct hk_thread_walk walk;
static void *expected[FRAMES];
static int expected_count;
static uint32_t extra; /* frames that backtrace() has in front: a sanitizer's own */

/* Takes both stacks of the caller. */
static NOINLINE int take(void)
{
	hk_walk_take(here(), &walk);
	expected_count = backtrace(expected, FRAMES);
	return expected_count;
}

/* A return address lies behind its call; where a signal came in between, the address is exact. */
static bool is_same(uint64_t own, const void *other)
{
	return own == (uint64_t)other || own + 1 == (uint64_t)other;
}

static void expect_same(uint32_t least)
{
	assert_int_equal(walk.end, HK_WALK_WHOLE);
	assert_int_equal(walk.count + extra, expected_count);
	assert_true(walk.count >= least);
	for (uint32_t i = 1; i < walk.count; i++) {
		if (!is_same(walk.address[i], expected[i + extra])) {
			fail_msg("frame %u of %u: %#lx, expected %p", i, walk.count,
				 (unsigned long)walk.address[i], expected[i + extra]);
		}
	}
}

static NOINLINE int recurse(int depth)
{
	return depth > 0 ? recurse(depth - 1) + 1 : take();
}

static void test_recursion(void **state)
{
	(void)state;
	recurse(100);
	expect_same(102);
}

static NOINLINE int grow(size_t bytes)
{
	volatile char *room = __builtin_alloca(bytes);
	room[0] = 1;
	return take() + room[0];
}

static NOINLINE int realign(size_t bytes)
{
	volatile char wide[256] __attribute__((aligned(256)));
	volatile char *room = __builtin_alloca(bytes);
	wide[0] = room[0] = 1;
	return grow(bytes) + wide[0] + room[0];
}

static void test_frames_of_any_size(void **state)
{
	(void)state;
	for (size_t bytes = 1; bytes < 100000; bytes = bytes * 3 + 1) {
		realign(bytes);
		expect_same(3);
	}
}

static int compare(const void *a, const void *b)
{
	take();
	return *(const int *)a - *(const int *)b;
}

static void test_functions_of_libc_in_between(void **state)
{
	int numbers[] = {3, 1, 2};
	(void)state;
	qsort(numbers, 3, sizeof(int), compare);
	expect_same(4);
}

static jmp_buf back;

/* Its call is the last instruction of its caller: the return address belongs to the next function.
 */
static NOINLINE __attribute__((noreturn)) void never_return(void)
{
	take();
	longjmp(back, 1);
}

static NOINLINE void leave(volatile int *done)
{
	*done = 1;
	never_return();
}

static void test_call_at_the_end_of_a_function(void **state)
{
	volatile int done = 0;
	(void)state;
	if (!setjmp(back)) {
		leave(&done);
	}
	expect_same(4);
}

static void handle(int number)
{
	(void)number;
	take();
}

static NOINLINE int interrupted(int flags)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = flags}, before;
	sigaction(SIGUSR1, &action, &before);
	raise(SIGUSR1);
	sigaction(SIGUSR1, &before, NULL);
	return 1;
}

static void test_signal_handler(void **state)
{
	(void)state;
	interrupted(0);
	expect_same(5);
}

static void test_signal_handler_on_its_own_stack(void **state)
{
	static char room[1 << 16];
	stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)}, before;
	(void)state;
	sigaltstack(&stack, &before);
	interrupted(SA_ONSTACK);
	sigaltstack(&before, NULL);
	expect_same(5);
}

static void *run(void *unused)
{
	recurse(10);
	return unused;
}

static void test_thread(void **state)
{
	pthread_t thread;
	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
	pthread_join(thread, NULL);
	expect_same(13);
}

static void test_equal_stacks_have_equal_hashes(void **state)
{
	uint64_t hashes[3];
	(void)state;
	for (int i = 0; i < 3; i++) {
		recurse(i / 2);
		hashes[i] = walk.hash;
	}
	assert_int_equal(hashes[0], hashes[1]);
	assert_int_not_equal(hashes[0], hashes[2]);
}

static void test_deep_stack(void **state)
{
	(void)state;
	recurse(2 * HK_WALK_FRAMES);
	assert_int_equal(walk.end, HK_WALK_DEEP);
	assert_int_equal(walk.count, HK_WALK_FRAMES);
	for (uint32_t i = 1; i < walk.count; i++) {
		assert_true(is_same(walk.address[i], expected[i + extra]));
	}
}

#if defined(__x86_64__)
/* Code without unwind information. It calls the function in rdi, with a frame pointer or without.
 */
static const uint8_t framed[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
static const uint8_t frameless[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
				    0x48, 0x83, 0xc4, 0x08, 0xc3};

static void call_through(const uint8_t *code, size_t bytes)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*function)(int (*)(void));
	assert_true(page != MAP_FAILED);
	memcpy(page, code, bytes);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	memcpy(&function, &page, sizeof(function));
	function(take);
	munmap(page, 4096);
}

static void test_generated_code(void **state)
{
	(void)state;
	call_through(framed, sizeof(framed));
	assert_int_equal(walk.end, HK_WALK_WHOLE);
	assert_true(walk.count > 4);
	call_through(frameless, sizeof(frameless));
	assert_true(walk.end == HK_WALK_UNKNOWN || walk.end == HK_WALK_WHOLE);
	assert_true(walk.count >= 2);
}
#endif

#if defined(__x86_64__)
/* As OpenSSL's functions: the stack pointer that it began with is kept on the stack. CFA: the word
 * at rsp + 24, + 8. */
__asm__(
    ".text; .globl keeps_stack; .type keeps_stack, @function\n"
    "keeps_stack: .cfi_startproc; movq %rsp, %rax; .cfi_def_cfa_register %rax\n"
    "pushq %rbp; .cfi_offset %rbp, -16; subq $1000, %rsp; andq $-64, %rsp; movq %rax, 24(%rsp)\n"
    ".cfi_escape 0x0f, 5, 0x77, 24, 6, 0x23, 8; movq $1, %rbp; callq *%rdi\n"
    "movq 24(%rsp), %rsi; .cfi_def_cfa %rsi, 8; movq -8(%rsi), %rbp; movq %rsi, %rsp; ret\n"
    ".cfi_endproc; .size keeps_stack, .-keeps_stack");

/* As the resolver of ld.so: CFA at the base register, which it saved, and the functions inside. */
__asm__(
    ".text; .globl keeps_base; .type keeps_base, @function\n"
    "keeps_base: .cfi_startproc; pushq %rbx; .cfi_adjust_cfa_offset 8; .cfi_rel_offset %rbx, 0\n"
    "movq %rsp, %rbx; .cfi_def_cfa_register %rbx; andq $-64, %rsp; subq $192, %rsp\n"
    "callq *%rdi; movq %rbx, %rsp; .cfi_def_cfa_register %rsp; popq %rbx\n"
    ".cfi_adjust_cfa_offset -8; .cfi_restore %rbx; ret\n"
    ".cfi_endproc; .size keeps_base, .-keeps_base");

/* As Intel's compilers: the same, and the frame pointer is saved where it leads to itself. */
__asm__(
    ".text; .globl keeps_both; .type keeps_both, @function\n"
    "keeps_both: .cfi_startproc; pushq %rbx; .cfi_adjust_cfa_offset 8; .cfi_rel_offset %rbx, 0\n"
    "movq %rsp, %rbx; .cfi_def_cfa_register %rbx; andq $-64, %rsp; pushq %rbp; pushq %rbp\n"
    "movq 8(%rbx), %rbp; movq %rbp, 8(%rsp); movq %rsp, %rbp; .cfi_escape 0x10, 6, 2, 0x76, 0\n"
    "subq $112, %rsp; callq *%rdi; movq %rbp, %rsp; popq %rbp; .cfi_restore %rbp\n"
    "movq %rbx, %rsp; .cfi_def_cfa_register %rsp; popq %rbx\n"
    ".cfi_adjust_cfa_offset -8; .cfi_restore %rbx; ret\n"
    ".cfi_endproc; .size keeps_both, .-keeps_both");

int keeps_stack(int (*function)(void));
int keeps_base(int (*function)(void));
int keeps_both(int (*function)(void));
static int (*const keepers[])(int (*)(void)) = {keeps_stack, keeps_base, keeps_both};

/* Uses the base register, so that it saves its caller's. */
static NOINLINE int take_with_base(void)
{
	__asm__ volatile("xorl %%ebx, %%ebx" : : : "rbx");
	return take();
}

/* Calls each keeper from the one before, or from itself. */
static int nested;

static NOINLINE int take_nested(void)
{
	__asm__ volatile("xorl %%ebx, %%ebx" : : : "rbx");
	if (--nested < 0) {
		return take_with_base();
	}
	return keepers[nested % 3](take_nested) + 1;
}

static void test_frames_that_other_registers_lead_to(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		keepers[i](take_with_base);
		expect_same(5);
	}
	nested = 30;
	take_nested();
	expect_same(64);
}

static void keeper_raises(int number)
{
	(void)number;
	take_with_base();
}

static int raise_here(void)
{
	__asm__ volatile("xorl %%ebx, %%ebx" : : : "rbx");
	raise(SIGUSR1);
	return 1;
}

/* The handler's frames saved the register, but the interrupted function's value is another one. */
static void test_base_register_and_signal(void **state)
{
	(void)state;
	signal(SIGUSR1, keeper_raises);
	keeps_base(raise_here);
	signal(SIGUSR1, SIG_DFL);
	expect_same(8);
}
#endif

static int set_up(void **state)
{
	(void)state;
	dl_iterate_phdr(here_add, NULL);
	backtrace(expected, 1); /* loads its library now */
	dl_iterate_phdr(here_add, NULL);
	take();
	extra = (uint32_t)expected_count > walk.count;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_frames_of_any_size),
		cmocka_unit_test(test_functions_of_libc_in_between),
		cmocka_unit_test(test_call_at_the_end_of_a_function),
		cmocka_unit_test(test_signal_handler),
		cmocka_unit_test(test_signal_handler_on_its_own_stack),
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_equal_stacks_have_equal_hashes),
		cmocka_unit_test(test_deep_stack),
#if defined(__x86_64__)
		cmocka_unit_test(test_frames_that_other_registers_lead_to),
		cmocka_unit_test(test_base_register_and_signal),
		cmocka_unit_test(test_generated_code),
#endif
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
