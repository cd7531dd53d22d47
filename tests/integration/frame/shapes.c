/* shapes: calls functions of awkward shapes; its output must not depend on who watches. */
#include "shapes.h"

#include <complex.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static int add_one(int value)
{
	return shape_recurse(value) + 1;
}

static void print_values(void)
{
	printf("twenty %ld\n",
	       shape_twenty(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20));
	struct shape_large large = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
	struct shape_small pair = shape_pair((struct shape_small){100, 1.5}, large, 1000);
	printf("pair %ld %g\n", pair.a, pair.b);
	struct shape_large back = shape_sret(7, large);
	printf("sret %ld %ld\n", back.word[0], back.word[8]);
	printf("long double %.6Lf\n", shape_long_double(1e20L, 0.5));
	_Complex double square = shape_complex(3 + 4 * I);
	printf("complex %g %g\n", creal(square), cimag(square));
	int length = shape_variadic("variadic %d %s %g %Lf %ld %d %d %d\n", 1, "two", 3.5, 4.5L, 5L,
				    6, 7, 8);
	printf("length %d\n", length);
	errno = 0;
	int doubled = shape_void_errno(EDOM);
	printf("errno %d %d\n", errno == EDOM, doubled);
	printf("callback %d\n", shape_callback(add_one, 5));
}

__attribute__((target("avx"))) static void print_vector(void)
{
	__m256d a = _mm256_set_pd(1, 2, 3, 4), b = _mm256_set1_pd(10);
	double out[4];
	_mm256_storeu_pd(out, shape_vector(a, b));
	printf("vector %g %g %g %g\n", out[0], out[1], out[2], out[3]);
}

static void print_jumps(void)
{
	jmp_buf where;
	volatile int jumps = 0;
	while (jumps < 1000) {
		if (setjmp(where) == 0) {
			shape_jump(where, 1);
		}
		jumps++;
	}
	printf("jumps %d\n", jumps);
}

/* A coroutine on a stack whose top touches a guard page. */
static ucontext_t main_context, fiber_context;

static void fiber_main(void)
{
	for (int i = 0; i < 3; i++) {
		printf("fiber %d\n", shape_recurse(10));
		swapcontext(&fiber_context, &main_context);
	}
}

static void print_fiber(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, 18 * (size_t)page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(area, (size_t)page, PROT_NONE);
	mprotect(area + 17 * page, (size_t)page, PROT_NONE);
	getcontext(&fiber_context);
	fiber_context.uc_stack.ss_sp = area + page;
	fiber_context.uc_stack.ss_size = 16 * (size_t)page;
	fiber_context.uc_link = &main_context;
	makecontext(&fiber_context, fiber_main, 0);
	for (int i = 0; i < 3; i++) {
		swapcontext(&main_context, &fiber_context);
	}
}

static volatile sig_atomic_t ticks;
static volatile long handled;

static void on_tick(int signal)
{
	(void)signal;
	handled += shape_recurse(3);
	ticks++;
}

/* Hooked calls in a handler that interrupts hooked calls. */
static void print_signals(void)
{
	struct sigaction action = {.sa_handler = on_tick};
	sigaction(SIGALRM, &action, NULL);
	sigset_t block, old;
	sigemptyset(&block);
	sigaddset(&block, SIGALRM);
	long sum = 0;
	for (int i = 0; i < 2000; i++) {
		if (i % 10 == 0) {
			raise(SIGALRM);
		}
		sum += shape_recurse(2);
	}
	sigprocmask(SIG_BLOCK, &block, &old);
	printf("signals %d %ld %ld\n", (int)ticks, handled, sum);
}

static void *run_thread(void *argument)
{
	long sum = 0;
	for (int i = 0; i < 1000; i++) {
		sum += shape_recurse((int)(long)argument);
	}
	return (void *)sum;
}

static void print_threads(void)
{
	long total = 0;
	for (int wave = 0; wave < 5; wave++) {
		pthread_t thread[8];
		for (long i = 0; i < 8; i++) {
			pthread_create(&thread[i], NULL, run_thread, (void *)i);
		}
		for (int i = 0; i < 8; i++) {
			void *sum;
			pthread_join(thread[i], &sum);
			total += (long)sum;
		}
	}
	printf("threads %ld\n", total);
}

static _Atomic int cleaned;

static void clean_up(void *unused)
{
	(void)unused;
	cleaned++;
}

/* A cancellation point that never ends by itself. */
static _Atomic long waiting;

static int wait_here(int unused)
{
	waiting++;
	for (;;) {
		pause();
	}
	return unused;
}

static void *end_in_library(void *depth)
{
	pthread_cleanup_push(clean_up, NULL);
	if (depth) {
		shape_end_thread();
	}
	for (;;) {
		shape_callback(wait_here, 0);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

/* Threads that end inside a hooked call, by their own will and by another's: the stack is unwound
 * through our frames. */
static void print_unwound(void)
{
	int ended = 0;
	for (long i = 0; i < 20; i++) {
		pthread_t thread;
		void *result;
		pthread_create(&thread, NULL, end_in_library, (void *)(i % 2));
		if (i % 2 == 0) {
			while (waiting <= i / 2) {
				sched_yield();
			}
			pthread_cancel(thread);
		}
		pthread_join(thread, &result);
		ended += result == (i % 2 ? NULL : PTHREAD_CANCELED);
	}
	printf("unwound %d %d\n", ended, cleaned);
}

/* Ends inside a hooked call. */
static int end_child(int status)
{
	exit(status);
}

static void print_fork(void)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		printf("child %d\n", shape_recurse(4));
		shape_callback(end_child, 3);
	}
	int status;
	waitpid(child, &status, 0);
	printf("child ended %d\n", WEXITSTATUS(status));
}

int main(void)
{
	print_values();
	if (__builtin_cpu_supports("avx")) {
		print_vector();
	}
	print_jumps();
	print_fiber();
	print_signals();
	print_threads();
	print_unwound();
	print_fork();
	return 0;
}
