/* stacks: calls functions that take many words on the stack, from the main stack, a thread's and
 * one that ends at a guard page, at every place of a page; prints what came back. */
#include "stacks.h"

#include <alloca.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE_BYTES 4096
#define STEP_BYTES 16
#define STACK_BYTES 262144

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

static void *run(void *unused)
{
	(void)unused;
	result = call_at_every_place(call_all);
	result = result * 31 + call_at_every_place(call_none);
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

int main(void)
{
	pthread_t thread;
	run(NULL);
	printf("main %lx\n", result);
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
	printf("thread %lx\n", result);
	print_fiber();
	return 0;
}
