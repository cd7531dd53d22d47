/* bench_stacks: ns that the agent's walk takes for a stack, beside glibc's backtrace() and
 * libunwind's unw_backtrace() at the same place, in turns. Every frame is of another function.
 *
 * Prints medians of the whole stack. "known": its rows are known. "changed": the next stack after
 * dlopen() or the like, which makes the agent's rows invalid; libunwind keeps its frames then,
 * right or wrong, so this compares with glibc only. "first": the first stack of a thread, after a
 * change. Most of libunwind's time there makes its cache and does not depend on the stack.
 * Exits with 1 if the walk finds other frames than backtrace(), takes longer for a known stack than
 * either, more than 10 ns a frame of it, or much longer than backtrace() where rows are not known;
 * with 77 if libunwind is not installed.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "here.h"

#define ROUNDS 201
#define BURST 1000
#define FIRST_ROUNDS 301
#define FRAMES 256
#define FRAME_LIMIT_NS 10
#define ABOUT 1.5 /* both read the same tables; 0.8 to 1.2 were seen */

#if defined(__aarch64__)
#define FLUSH "_Uaarch64_flush_cache"
#define SPACE "_ULaarch64_local_addr_space"
#else
#define FLUSH "_Ux86_64_flush_cache"
#define SPACE "_ULx86_64_local_addr_space"
#endif

enum { WALK, BACKTRACE, LIBUNWIND, WAYS };

static const char *const names[WAYS] = {"agent", "backtrace()", "unw_backtrace()"};
static struct hk_thread_walk walk;
static int (*unw_backtrace)(void **frames, int count);
static int (*flush)(void *space, uint64_t low, uint64_t high);
static void **space;
static double times[WAYS][ROUNDS], first[WAYS][FIRST_ROUNDS], changed[WAYS][FIRST_ROUNDS];
static int counts[WAYS];
static int missed;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static __attribute__((noinline)) int take(int way)
{
	static void *frames[FRAMES];

	switch (way) {
	case WALK:
		hk_walk_take(here(), &walk);
		return (int)walk.count;
	case BACKTRACE:
		return backtrace(frames, FRAMES);
	default:
		return unw_backtrace(frames, FRAMES);
	}
}

static void forget(void)
{
	hk_code_note_change();
	flush(*space, 0, 0);
}

static __attribute__((noinline)) void measure_changed(void)
{
	for (int round = 0; round < FIRST_ROUNDS; round++) {
		for (int way = 0; way < WAYS; way++) {
			forget();
			double start = now_ns();
			take(way);
			changed[way][round] = now_ns() - start;
		}
	}
}

static __attribute__((noinline)) void measure(void)
{
	for (int round = -1; round < ROUNDS; round++) {
		for (int way = 0; way < WAYS; way++) {
			double start = now_ns();
			for (int i = 0; i < BURST; i++) {
				counts[way] = take(way);
			}
			times[way][round < 0 ? 0 : round] = (now_ns() - start) / BURST;
		}
	}
	measure_changed();
}

/* 64 functions, each of which calls the one before. Their names are octal numbers. */
static void (*innermost)(void);

static __attribute__((noinline)) int f_end(void)
{
	innermost();
	return 0;
}

#define CALLER(name, called)                                \
	static __attribute__((noinline)) int f_##name(void) \
	{                                                   \
		volatile int kept = 0##name;                \
		return f_##called() + kept;                 \
	}
#define EIGHT(a, before)     \
	CALLER(a##0, before) \
	CALLER(a##1, a##0)   \
	CALLER(a##2, a##1)   \
	CALLER(a##3, a##2)   \
	CALLER(a##4, a##3)   \
	CALLER(a##5, a##4)   \
	CALLER(a##6, a##5)   \
	CALLER(a##7, a##6)
EIGHT(0, end)
EIGHT(1, 07)
EIGHT(2, 17)
EIGHT(3, 27)
EIGHT(4, 37)
EIGHT(5, 47)
EIGHT(6, 57)
EIGHT(7, 67)

static int (*const at_depths[])(void) = {f_04, f_23, f_77}; /* 5, 20 and 64 of them */

static int first_way;
static int (*first_outermost)(void);
static double first_ns;

static __attribute__((noinline)) void measure_one(void)
{
	double start = now_ns();

	counts[first_way] = take(first_way);
	first_ns = now_ns() - start;
}

static void *run_one(void *unused)
{
	innermost = measure_one;
	first_outermost();
	return unused;
}

static void measure_first(int (*outermost)(void))
{
	first_outermost = outermost;
	for (int round = 0; round < FIRST_ROUNDS; round++) {
		for (first_way = 0; first_way < WAYS; first_way++) {
			pthread_t thread;
			forget();
			memset(&walk, 0, sizeof(walk));
			if (pthread_create(&thread, NULL, run_one, NULL)) {
				abort();
			}
			pthread_join(thread, NULL);
			first[first_way][round] = first_ns;
		}
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void judge(const char *what, int holds)
{
	if (!holds) {
		printf("MISSED: %s\n", what);
		missed = 1;
	}
}

static double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof(double), by_value);
	return values[count / 2];
}

static void report(void)
{
	double known[WAYS], next[WAYS], at_first[WAYS];

	for (int way = 0; way < WAYS; way++) {
		known[way] = median_of(times[way], ROUNDS);
		next[way] = median_of(changed[way], FIRST_ROUNDS);
		at_first[way] = median_of(first[way], FIRST_ROUNDS);
		printf("%-16s %3d frames   known %6.0f ns (%5.1f a frame)   changed %6.0f ns   "
		       "first %6.0f ns\n",
		       names[way], counts[way], known[way], known[way] / counts[way], next[way],
		       at_first[way]);
	}
	judge("as many frames as backtrace()", counts[WALK] == counts[BACKTRACE]);
	judge("known: less than backtrace()", known[WALK] < known[BACKTRACE]);
	judge("known: less than unw_backtrace()", known[WALK] < known[LIBUNWIND]);
	judge("changed: about that of backtrace()", next[WALK] < ABOUT * next[BACKTRACE]);
	judge("first: about that of backtrace()", at_first[WALK] < ABOUT * at_first[BACKTRACE]);
	judge("first: less than unw_backtrace()", at_first[WALK] < at_first[LIBUNWIND]);
	judge("10 ns a frame", known[WALK] <= FRAME_LIMIT_NS * counts[WALK]);
}

int main(void)
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	void *frame;

	*(void **)&unw_backtrace = library ? dlsym(library, "unw_backtrace") : NULL;
	*(void **)&flush = library ? dlsym(library, FLUSH) : NULL;
	space = library ? dlsym(library, SPACE) : NULL;
	if (!unw_backtrace || !flush || !space) {
		puts("libunwind.so.8 is not installed");
		return 77;
	}
	backtrace(&frame, 1); /* loads its library now */
	dl_iterate_phdr(here_add, NULL);
	for (size_t i = 0; i < sizeof(at_depths) / sizeof(at_depths[0]); i++) {
		measure_first(at_depths[i]);
		innermost = measure;
		at_depths[i]();
		report();
	}
	return missed;
}
