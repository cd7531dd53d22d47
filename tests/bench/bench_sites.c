/* bench_sites: ns that a call of a site without a thunk, and a range, add at each level.
 *
 * Under `hookcli run` with --level 'count*=count' and so on for time and sample. The loops take
 * turns, and one with the two clock reads of a call is the unit. Prints the lower quartile of each;
 * exits with 1 if one adds more than its limit.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#include "hooktrace.h"

#define ROUNDS 401
#define BURST 256
#define DEEP 8

static uint32_t sites[4];
static const char *const names[] = {"record (bench.py:1)", "time (bench.py:2)",
				    "count (bench.py:3)", "sample (bench.py:4)"};

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void nothing(void)
{
	__asm__ volatile("");
}

static void clocks(void)
{
	uint64_t first = __rdtsc();
	__asm__ volatile("" : : "r"(first));
	first = __rdtsc();
	__asm__ volatile("" : : "r"(first));
}

static void call(uint32_t site)
{
	struct hk_open open;
	hk_enter(&open, site);
	hk_leave(&open, 0);
}

static void record(void)
{
	call(sites[0]);
}

static void timed(void)
{
	call(sites[1]);
}

static void count(void)
{
	call(sites[2]);
}

static void sample(void)
{
	call(sites[3]);
}

static void range(void)
{
	hk_range_push("forward");
	hk_range_pop();
}

static void long_range(void)
{
	hk_range_push("a range of exactly 30 letters.");
	hk_range_pop();
}

static void go_deep(int depth)
{
	struct hk_open open;
	hk_enter(&open, sites[0]);
	if (depth > 1) {
		go_deep(depth - 1);
	}
	hk_leave(&open, 0);
}

static void deep(void)
{
	go_deep(DEEP);
}

static void deeper(void)
{
	go_deep(DEEP * DEEP);
}

/* UNITS: the most that it may add, in clock reads of a call. */
static const struct variant {
	const char *name;
	void (*run)(void);
	double calls, units;
} variants[] = {
    {"nothing", nothing, 1, 0},	   {"two clock reads", clocks, 1, 0},
    {"record", record, 1, 2.6},	   {"time", timed, 1, 2.6},
    {"count", count, 1, 0.9},	   {"sample", sample, 1, 1},
    {"8 nested", deep, DEEP, 2.8}, {"64 nested", deeper, DEEP *DEEP, 2.8},
    {"range", range, 1, 3},	   {"range of 30 letters", long_range, 1, 3},
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

static double ns[VARIANTS][ROUNDS];

static void burst(unsigned number, int round)
{
	const struct variant *variant = &variants[number];
	int calls = (int)(BURST / variant->calls) + 1;
	double start = now();
	for (int i = 0; i < calls; i++) {
		variant->run();
	}
	ns[number][round] = (now() - start) / (calls * variant->calls);
}

static int by_size(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;
	return (first > second) - (first < second);
}

static double quartile(unsigned number)
{
	qsort(ns[number], ROUNDS, sizeof(ns[number][0]), by_size);
	return ns[number][ROUNDS / 4];
}

int main(void)
{
	int status = 0;
	if (!hk_site_define) {
		puts("no agent");
		return 77;
	}
	for (unsigned i = 0; i < 4; i++) {
		const struct hk_site_text text = {names[i], "bench.py", "python"};
		sites[i] = hk_site_define(&text);
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < VARIANTS; i++) {
			burst(i, round);
		}
	}
	double base = quartile(0), unit = quartile(1) - base;
	printf("%-20s %6.1f ns\n", variants[1].name, unit);
	for (unsigned i = 2; i < VARIANTS; i++) {
		double added = quartile(i) - base;
		int missed = added > variants[i].units * unit;
		printf("%-20s %6.1f ns  %.2f x clock reads%s\n", variants[i].name, added,
		       added / unit, missed ? ": too much" : "");
		status |= missed;
	}
	return status;
}
