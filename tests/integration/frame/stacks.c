/* stacks: calls functions that take many words on the stack, from the main stack, a thread's and
 * one that ends at a guard page, at every place of a page; prints what came back. With two depths:
 * the least processor time of a call in calls that deep, in nanoseconds. */
#include "stacks.h"

#include <alloca.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE_BYTES 4096
#define STEP_BYTES 16
#define STACK_BYTES 1048576
#define DEPTH 1000

static long round_number;

#define FILL(variable)                                                                        \
	for (size_t fill = 0; fill < sizeof(variable) / sizeof((variable).word[0]); fill++) { \
		(variable).word[fill] = round_number++;                                       \
	}

static __attribute__((noinline)) long call_all(void)
{
	struct stack_16 a;
	struct stack_32 b;
	struct stack_33 c;
	struct stack_64 d;
	struct stack_255 e;
	FILL(a);
	FILL(b);
	FILL(c);
	FILL(d);
	FILL(e);
	long sum =
	    stacks_twenty(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20);
	sum = sum * 7 + stacks_structs(a, a, 1, a, a, a, 2.5, 3, 4, 5, 6, 7, 8);
	sum = sum * 7 + stacks_default(b);
	sum = sum * 7 + stacks_odd(1, c);
	sum = sum * 7 + stacks_half(d, 1.5);
	sum = sum * 7 + stacks_most(e, 9);
	sum = sum * 7 + stacks_many(sum + 0, sum + 1, sum + 2, sum + 3, sum + 4, sum + 5, sum + 6,
				    sum + 7, sum + 8, sum + 9, sum + 10, sum + 11, sum + 12,
				    sum + 13, sum + 14, sum + 15, sum + 16, sum + 17, sum + 18,
				    sum + 19, sum + 20, sum + 21, sum + 22, sum + 23, sum + 24,
				    sum + 25, sum + 26, sum + 27, sum + 28, sum + 29, sum + 30,
				    sum + 31, sum + 32, sum + 33, sum + 34, sum + 35, sum + 36,
				    sum + 37, sum + 38, sum + 39, sum + 40, sum + 41, sum + 42,
				    sum + 43, sum + 44, sum + 45, sum + 46, sum + 47);
	return sum * 7 + stacks_zero(1, 2, 3, 4, 5, 6);
}

#define TEN(from)                                                                             \
	(long)(from), (long)(from) + 1, (long)(from) + 2, (long)(from) + 3, (long)(from) + 4, \
	    (long)(from) + 5, (long)(from) + 6, (long)(from) + 7, (long)(from) + 8,           \
	    (long)(from) + 9

static __attribute__((noinline)) long call_large(void)
{
	struct stack_40 a;
	struct stack_125 b;
	struct stack_500 c;
	struct stack_1500 d;
	FILL(a);
	FILL(b);
	FILL(c);
	FILL(d);
	long sum = stacks_320(a);
	sum = sum * 7 + stacks_1000(b, 9);
	sum = sum * 7 + stacks_4000(3, c, a);
	sum = sum * 7 + stacks_12000(d);
	sum = sum * 7 +
	      stacks_long_double(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18);
	return sum * 7 + stacks_variadic(100, TEN(1), TEN(20), TEN(30), TEN(40), TEN(50), TEN(60),
					 TEN(70), TEN(80), TEN(90), TEN(sum));
}

#if defined(__x86_64__)
static int has_vectors(void)
{
	return __builtin_cpu_supports("avx");
}

static __attribute__((target("avx"), noinline)) long call_vectors(void)
{
	stack_vector a = {1, 2, 3, (double)(round_number % 1000)};
	stack_vector sum = stacks_vectors(a, a, a, a, a, a, a, a, a, a);
	return (long)sum[0] + (long)sum[3];
}
#else
static int has_vectors(void)
{
	return 0;
}

static long call_vectors(void)
{
	return 0;
}
#endif

static __attribute__((noinline)) long call_aligned(void)
{
	struct stack_aligned a;
	FILL(a);
	long sum = stacks_aligned(a);
	sum = sum * 7 + stacks_aligned_more(5, a);
	sum = sum * 7 + stacks_aligned_given(a);
	return has_vectors() ? sum * 7 + call_vectors() : sum;
}

static __attribute__((noinline)) long call_none(void)
{
	return stacks_none(1);
}

static __attribute__((noinline)) long call_below(size_t bytes, long (*call)(void))
{
	volatile char *room = alloca(bytes);
	room[0] = 0;
	return call() + room[0];
}

static long call_at_every_place(long (*call)(void))
{
	long sum = 0;
	for (size_t bytes = STEP_BYTES; bytes <= PAGE_BYTES; bytes += STEP_BYTES) {
		sum = sum * 31 + call_below(bytes, call);
	}
	return sum;
}

static long result;

static long go_deeper(long depth)
{
	return stacks_deep(depth, go_deeper);
}

static void *run(void *unused)
{
	(void)unused;
	result = call_at_every_place(call_all);
	result = result * 31 + call_at_every_place(call_none);
	result = result * 31 + call_at_every_place(call_large);
	result = result * 31 + call_at_every_place(call_aligned);
	result = result * 31 + go_deeper(DEPTH);
	return NULL;
}

static void run_fiber(void)
{
	run(NULL);
}

static void print_fiber(void)
{
	ucontext_t main_context, fiber;
	char *area = mmap(NULL, STACK_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(area + STACK_BYTES, PAGE_BYTES, PROT_NONE);
	getcontext(&fiber);
	fiber.uc_stack.ss_sp = area;
	fiber.uc_stack.ss_size = STACK_BYTES;
	fiber.uc_link = &main_context;
	makecontext(&fiber, run_fiber, 0);
	swapcontext(&main_context, &fiber);
	printf("fiber %lx\n", result);
}

/* More places to call from than the agent can tell apart. */
void call_from_everywhere(void);
__asm__(".text\n"
	".type call_from_everywhere, %function\n"
	"call_from_everywhere:\n"
	".cfi_startproc\n"
#if defined(__x86_64__)
	"pushq %rbp\n"
	".cfi_adjust_cfa_offset 8\n"
	".rept 40000\n"
	"call stacks_count@PLT\n"
	".endr\n"
	"popq %rbp\n"
	".cfi_adjust_cfa_offset -8\n"
#else
	"stp x29, x30, [sp, #-16]!\n"
	".cfi_adjust_cfa_offset 16\n"
	".cfi_rel_offset x30, 8\n"
	".rept 40000\n"
	"bl stacks_count\n"
	".endr\n"
	"ldp x29, x30, [sp], #16\n"
	".cfi_adjust_cfa_offset -16\n"
	".cfi_restore x30\n"
#endif
	"ret\n"
	".cfi_endproc\n"
	".size call_from_everywhere, . - call_from_everywhere\n");

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double least_ns(long depth)
{
	double least = 1e9;
	for (int i = 0; i < 20; i++) {
		double start = now_ns();
		go_deeper(depth);
		double each = (now_ns() - start) / (double)(depth + 1);
		least = each < least ? each : least;
	}
	return least;
}

int main(int count, char **arguments)
{
	pthread_t thread;
	if (count > 2) {
		printf("%.0f %.0f\n", least_ns(atol(arguments[1])), least_ns(atol(arguments[2])));
		return 0;
	}
	run(NULL);
	printf("main %lx%s\n", result, has_vectors() ? ", with vectors" : "");
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
	printf("thread %lx\n", result);
	print_fiber();
	call_from_everywhere();
	printf("calls %ld\n", stacks_count());
	return 0;
}
