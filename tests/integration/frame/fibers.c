/* fibers: hooked calls on stacks of the program's own, entered and left in every order; prints what
 * came back. `fibers CASE` runs one of the cases below by ucontext, `fibers CASE by-hand` by a
 * switch of stacks of its own, as coroutine libraries have it. */
#include "fibers.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define ROUNDS 200
#define STACK_BYTES 65536
#define ALTERNATE_BYTES 131072

struct fiber {
	ucontext_t context, resumer;
	void *stack, *resumer_stack; /* the same, by hand: their stack pointers */
	char *area;
	int (*main)(struct fiber *);
	int result;
};

static bool by_hand;
static _Thread_local struct fiber *starting;

static void yield(struct fiber *fiber)
{
	if (by_hand) {
		fiber_switch(&fiber->stack, fiber->resumer_stack);
	} else {
		swapcontext(&fiber->context, &fiber->resumer);
	}
}

static void resume(struct fiber *fiber)
{
	starting = fiber;
	if (by_hand) {
		fiber_switch(&fiber->resumer_stack, fiber->stack);
	} else {
		swapcontext(&fiber->resumer, &fiber->context);
	}
}

static void fiber_start(void)
{
	struct fiber *fiber = starting;
	fiber->result = fiber->main(fiber);
	for (;;) {
		yield(fiber);
	}
}

/* Its stack lies between two pages that cannot be touched. */
static void make_fiber(struct fiber *fiber, int (*run)(struct fiber *))
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	fiber->main = run;
	fiber->area =
	    mmap(NULL, STACK_BYTES + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(fiber->area + page, STACK_BYTES, PROT_READ | PROT_WRITE);
	if (by_hand) {
		fiber->stack = fiber_stack(fiber->area + page + STACK_BYTES, fiber_start);
		return;
	}
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->area + page;
	fiber->context.uc_stack.ss_size = STACK_BYTES;
	makecontext(&fiber->context, fiber_start, 0);
}

static void end_fiber(struct fiber *fiber)
{
	munmap(fiber->area, STACK_BYTES + 2 * (size_t)sysconf(_SC_PAGESIZE));
}

/* Away from the caller's frame: what was abandoned there must not look like its parent for ever. */
static __attribute__((noinline)) int leaf_deep(int value)
{
	volatile char room[4096];
	room[0] = (char)value;
	return fiber_leaf(value) + room[0] - (char)value;
}

/* A call that a fiber leaves and comes back to within one of the main stack: a enters, b enters, a
 * returns, b returns. */

static int yield_here(void *fiber)
{
	yield(fiber);
	return fiber_leaf(10);
}

static int run_crossing(struct fiber *fiber)
{
	return fiber_call(yield_here, fiber);
}

static int resume_here(void *fiber)
{
	resume(fiber);
	return fiber_leaf(20);
}

static void cross(void)
{
	long sum = 0;
	for (int i = 0; i < ROUNDS; i++) {
		struct fiber fiber;
		make_fiber(&fiber, run_crossing);
		resume(&fiber);
		sum += fiber_outer(resume_here, &fiber);
		sum += fiber.result + leaf_deep(1);
		end_fiber(&fiber);
	}
	printf("cross %ld\n", sum);
}

/* ---- back and forth inside one call, which stays the outer one ---- */

static int run_leaves(struct fiber *fiber)
{
	int sum = 0;
	for (int i = 0; i < 3; i++) {
		sum += fiber_leaf(i);
		yield(fiber);
	}
	return sum;
}

static int resume_thrice(void *fiber)
{
	int sum = 0;
	for (int i = 0; i < 4; i++) {
		resume(fiber);
		sum += fiber_leaf(i);
	}
	return sum;
}

static void nest(void)
{
	long sum = 0;
	for (int i = 0; i < ROUNDS; i++) {
		struct fiber fiber;
		make_fiber(&fiber, run_leaves);
		sum += fiber_outer(resume_thrice, &fiber) + fiber.result + leaf_deep(1);
		end_fiber(&fiber);
	}
	printf("nest %ld\n", sum);
}

/* Fibers that begin a call on one thread and return from it on another, which has made no hooked
 * call before or is busy with its own. */

static int wander(void *fiber)
{
	int sum = fiber_leaf(1);
	yield(fiber);
	return sum + fiber_leaf(2);
}

static int run_wandering(struct fiber *fiber)
{
	int sum = fiber_call(wander, fiber);
	yield(fiber);
	return sum + fiber_leaf(3);
}

struct handover {
	struct fiber *fiber;
	sem_t full, empty;
	int own_call;
};

static int resume_fiber(void *handover)
{
	resume(((struct handover *)handover)->fiber);
	return 0;
}

static void *take_over(void *argument)
{
	struct handover *handover = argument;
	for (int i = 0; i < ROUNDS; i++) {
		sem_wait(&handover->full);
		if (handover->own_call) {
			fiber_outer(resume_fiber, handover);
		} else {
			resume(handover->fiber);
		}
		sem_post(&handover->empty);
	}
	return NULL;
}

static void migrate(int own_call)
{
	struct handover handover = {.own_call = own_call};
	pthread_t thread;
	long sum = 0;
	sem_init(&handover.full, 0, 0);
	sem_init(&handover.empty, 0, 0);
	pthread_create(&thread, NULL, take_over, &handover);
	for (int i = 0; i < ROUNDS; i++) {
		struct fiber fiber;
		make_fiber(&fiber, run_wandering);
		handover.fiber = &fiber;
		resume(&fiber);
		sem_post(&handover.full);
		for (int j = 0; j < 10; j++) {
			sum += leaf_deep(j);
		}
		sem_wait(&handover.empty);
		resume(&fiber);
		sum += fiber.result;
		end_fiber(&fiber);
	}
	pthread_join(thread, NULL);
	printf("migrate %ld\n", sum);
}

/* Fibers that are given up inside a call: their stacks go, and others come to the same place. */

static void give_up(void)
{
	long sum = 0;
	for (int i = 0; i < ROUNDS; i++) {
		struct fiber fiber;
		make_fiber(&fiber, run_crossing);
		resume(&fiber);
		sum += leaf_deep(i);
		end_fiber(&fiber);
	}
	printf("give_up %ld\n", sum);
}

/* A handler on an alternate stack that jumps away out of a call, while the thread was inside
 * another one. */

static sigjmp_buf before;
static volatile long jumps;

static int jump(void *unused)
{
	(void)unused;
	jumps++;
	siglongjmp(before, 1);
}

static void on_signal(int number)
{
	(void)number;
	fiber_leaf(1);
	fiber_call(jump, NULL);
}

static int raise_here(void *unused)
{
	(void)unused;
	return raise(SIGUSR1);
}

static __attribute__((noinline)) void jump_off(void)
{
	volatile long sum = 0;
	for (volatile int i = 0; i < ROUNDS; i++) {
		if (sigsetjmp(before, 1) == 0) {
			fiber_outer(raise_here, NULL);
		}
		sum += fiber_leaf(1);
	}
	printf("jump_off %ld %ld\n", sum, jumps);
}

static void use_stack(char *area)
{
	stack_t stack = {.ss_sp = area, .ss_size = ALTERNATE_BYTES};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	jump_off();
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
}

/* Right above the frames that the handler interrupts. */
static __attribute__((noinline)) void use_stack_above(void)
{
	char area[ALTERNATE_BYTES];
	memset(area, 0, sizeof(area));
	use_stack(area);
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";
	by_hand = argc > 2 && strcmp(argv[2], "by-hand") == 0;
	if (strcmp(which, "cross") == 0) {
		cross();
	} else if (strcmp(which, "nest") == 0) {
		nest();
	} else if (strcmp(which, "migrate") == 0) {
		migrate(0);
	} else if (strcmp(which, "migrate_inside") == 0) {
		migrate(1);
	} else if (strcmp(which, "give_up") == 0) {
		give_up();
	} else if (strcmp(which, "alternate") == 0) {
		char *area = malloc(ALTERNATE_BYTES);
		use_stack(area);
		free(area);
	} else if (strcmp(which, "alternate_above") == 0) {
		use_stack_above();
	} else {
		return 2;
	}
	return 0;
}
