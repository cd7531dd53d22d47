/* bench_stacks: ns that the agent's walk takes for a stack that it has seen before, beside glibc's
 * backtrace() and libunwind's unw_backtrace() at the same place, in turns.
 *
 * Prints the median of each, for the whole stack and for one frame. Exits with 1 if the walk finds
 * other frames than backtrace(), takes longer than either of the others, or more than 10 ns a
 * frame; with 77 if libunwind is not installed.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "here.h"

#define ROUNDS 201
#define BURST 1000
#define FRAMES 256
#define FRAME_LIMIT_NS 10

enum { WALK, BACKTRACE, LIBUNWIND, WAYS };

static const char *const names[WAYS] = {"agent", "backtrace()", "unw_backtrace()"};
static const int depths[] = {5, 25, 60};
static struct hk_thread_walk walk;
static int (*unw_backtrace)(void **frames, int count);
static double times[WAYS][ROUNDS];
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
}

static __attribute__((noinline)) int recurse(int depth)
{
	volatile int kept = depth;

	if (depth == 0) {
		measure();
		return 0;
	}
	return recurse(depth - 1) + kept;
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

static void report(void)
{
	double median[WAYS];

	for (int way = 0; way < WAYS; way++) {
		qsort(times[way], ROUNDS, sizeof(double), by_value);
		median[way] = times[way][ROUNDS / 2];
		printf("%-16s %3d frames  %7.0f ns  %6.1f ns a frame\n", names[way], counts[way],
		       median[way], median[way] / counts[way]);
	}
	judge("as many frames as backtrace()", counts[WALK] == counts[BACKTRACE]);
	judge("less time than backtrace()", median[WALK] < median[BACKTRACE]);
	judge("less time than unw_backtrace()", median[WALK] < median[LIBUNWIND]);
	judge("10 ns a frame", median[WALK] <= FRAME_LIMIT_NS * counts[WALK]);
}

int main(void)
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	void *frame;

	*(void **)&unw_backtrace = library ? dlsym(library, "unw_backtrace") : NULL;
	if (!unw_backtrace) {
		puts("libunwind.so.8 is not installed");
		return 77;
	}
	backtrace(&frame, 1); /* loads its library now */
	dl_iterate_phdr(here_add, NULL);
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		recurse(depths[i]);
		report();
	}
	return missed;
}
