/* bench_call: ns that a hooked call adds at each level, beside the clock reads of the level in the
 * same run.
 *
 * Run under the agent with call.hooks (tests/bench/README.md). Variants are interleaved; each
 * figure is the median of many short bursts, so that the collector keeps up and a burst never waits
 * for a page. Prints one line per figure: name, ns, ratio to these, and the limit from the
 * design where there is one; exits 1 if a limit is missed.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#define ROUNDS 301
#define BURST 4096

#define DECLARE(name) int name(void);
DECLARE(bench_plain)
DECLARE(bench_off)
DECLARE(bench_count)
DECLARE(bench_sample)
DECLARE(bench_time)
DECLARE(bench_record)
DECLARE(bench_ordered)
DECLARE(bench_unknown)

#define DECLARE4(p) DECLARE(p##0) DECLARE(p##1) DECLARE(p##2) DECLARE(p##3)
#define DECLARE16(p) DECLARE4(p##0) DECLARE4(p##1) DECLARE4(p##2) DECLARE4(p##3)
#define DECLARE64(p) DECLARE16(p##0) DECLARE16(p##1) DECLARE16(p##2) DECLARE16(p##3)
#define DECLARE256(p) DECLARE64(p##0) DECLARE64(p##1) DECLARE64(p##2) DECLARE64(p##3)
#define CALL(name) name();
#define CALL4(p) CALL(p##0) CALL(p##1) CALL(p##2) CALL(p##3)
#define CALL16(p) CALL4(p##0) CALL4(p##1) CALL4(p##2) CALL4(p##3)
#define CALL64(p) CALL16(p##0) CALL16(p##1) CALL16(p##2) CALL16(p##3)
#define CALL256(p) CALL64(p##0) CALL64(p##1) CALL64(p##2) CALL64(p##3)
/* clang-format off */
DECLARE256(bench_many_0) DECLARE256(bench_many_1) DECLARE256(bench_many_2) DECLARE256(bench_many_3)
DECLARE256(bench_wide_0) DECLARE256(bench_wide_1) DECLARE256(bench_wide_2) DECLARE256(bench_wide_3)
/* clang-format on */

/* clang-format off */
#define LOOP(name)                                \
	static void run_##name(void)              \
	{                                         \
		for (int i = 0; i < BURST; i++) { \
			name();                   \
		}                                 \
	}
    LOOP(bench_plain) LOOP(bench_off) LOOP(bench_count) LOOP(bench_sample) LOOP(bench_time)
	LOOP(bench_record) LOOP(bench_ordered) LOOP(bench_unknown)
    /* clang-format on */

    static void run_many(void)
{
	for (int i = 0; i < BURST / 1024; i++) {
		CALL256(bench_many_0)
		CALL256(bench_many_1) CALL256(bench_many_2) CALL256(bench_many_3)
	}
}

/* As many functions without hooks: the cost of the calls, their PLT entries and slots by
 * themselves. */
static void run_wide(void)
{
	for (int i = 0; i < BURST / 1024; i++) {
		CALL256(bench_wide_0)
		CALL256(bench_wide_1) CALL256(bench_wide_2) CALL256(bench_wide_3)
	}
}

static void run_rdtsc(void)
{
	for (int i = 0; i < BURST; i++) {
		(void)__rdtsc();
		__asm__ volatile("");
	}
}

static void run_rdtscp(void)
{
	for (int i = 0; i < BURST; i++) {
		unsigned processor;
		(void)__rdtscp(&processor);
		__asm__ volatile("");
	}
}

/* What a level needs of the clock: the unit of its figure. */
enum unit {
	UNIT_NS,	/* nothing: its figure is in ns */
	UNIT_UNORDERED, /* rdtsc twice */
	UNIT_ORDERED,	/* rdtsc and rdtscp */
};

struct variant {
	const char *name;
	void (*run)(void);
	double limit; /* of its figure; 0: none */
	enum unit unit;
	double ns[ROUNDS];
	double median;
};

/* The bursts over 1,024 functions come twice in a row: the first after a round's pause, in which
 * the collector read every cell, the second with all that they touch in the caches. */
enum {
	RDTSC,
	RDTSCP,
	PLAIN,
	OFF,
	COUNT,
	SAMPLE,
	TIME,
	RECORD,
	ORDERED,
	UNKNOWN,
	WIDE_COLD,
	WIDE,
	MANY_COLD,
	MANY,
	VARIANTS
};

static struct variant variants[VARIANTS] = {
    [RDTSC] = {"rdtsc", run_rdtsc, 0, UNIT_NS, {0}, 0},
    [RDTSCP] = {"rdtscp", run_rdtscp, 0, UNIT_NS, {0}, 0},
    [PLAIN] = {"plain call", run_bench_plain, 0, UNIT_NS, {0}, 0},
    [OFF] = {"off (slot restored)", run_bench_off, 0.3, UNIT_NS, {0}, 0},
    [COUNT] = {"count", run_bench_count, 2.0, UNIT_NS, {0}, 0},
    [SAMPLE] = {"sample", run_bench_sample, 4.0, UNIT_NS, {0}, 0},
    [TIME] = {"time", run_bench_time, 0, UNIT_UNORDERED, {0}, 0},
    [RECORD] = {"record, unordered clock", run_bench_record, 1.8, UNIT_UNORDERED, {0}, 0},
    [ORDERED] = {"record, ordered clock", run_bench_ordered, 1.6, UNIT_ORDERED, {0}, 0},
    [UNKNOWN] = {"record, undescribed", run_bench_unknown, 1.9, UNIT_ORDERED, {0}, 0},
    [WIDE_COLD] = {"", run_wide, 0, UNIT_NS, {0}, 0},
    [WIDE] = {"", run_wide, 0, UNIT_NS, {0}, 0},
    [MANY_COLD] = {"1024 sites, after a pause", run_many, 0, UNIT_UNORDERED, {0}, 0},
    [MANY] = {"1024 sites, steady", run_many, 0, UNIT_UNORDERED, {0}, 0},
};

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;
	return difference < 0 ? -1 : difference > 0;
}

static void measure(void)
{
	for (int round = -3; round < ROUNDS; round++) {
		for (int i = 0; i < VARIANTS; i++) {
			double start = now_ns();
			variants[i].run();
			double each = (now_ns() - start) / BURST;
			if (round >= 0) {
				variants[i].ns[round] = each;
			}
		}
		/* Lets the collector give pages back on a machine with as few cores as this bench
		 * likes. */
		nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
	}
	for (int i = 0; i < VARIANTS; i++) {
		qsort(variants[i].ns, ROUNDS, sizeof(double), ascending);
		variants[i].median = variants[i].ns[ROUNDS / 2];
	}
}

static void print_verdict(double figure, double limit)
{
	if (figure <= limit) {
		printf("  met");
	} else {
		printf("  MISSED by %.0f %%", (figure / limit - 1) * 100);
	}
}

static bool print_variant(const struct variant *variant, double plain)
{
	double added = variant->median - plain, rdtsc = variants[RDTSC].median;
	double unit = variant->unit == UNIT_ORDERED ? rdtsc + variants[RDTSCP].median : 2 * rdtsc;
	double figure = variant->unit == UNIT_NS ? added : added / unit;
	bool met = variant->limit <= 0 || figure <= variant->limit;
	printf("%-26s +%6.2f ns", variant->name, added);
	if (variant->unit != UNIT_NS) {
		printf("  %5.2f units", figure);
	}
	if (variant->limit > 0) {
		printf("   limit %.1f%s", variant->limit, variant->unit == UNIT_NS ? " ns" : "");
		print_verdict(figure, variant->limit);
	}
	printf("\n");
	return met;
}

int main(void)
{
	measure();
	double plain = variants[PLAIN].median;
	bool met = true;
	printf("rdtsc %.2f ns, rdtscp %.2f ns, plain call %.2f ns; a unit is two reads of the "
	       "clock, rdtscp for the second where it is ordered; added per call:\n",
	       variants[RDTSC].median, variants[RDTSCP].median, plain);
	for (int i = OFF; i < WIDE_COLD; i++) {
		met &= print_variant(&variants[i], plain);
	}
	double wide = variants[WIDE].median;
	print_variant(&variants[MANY_COLD], variants[WIDE_COLD].median);
	print_variant(&variants[MANY], wide);
	double spread = (variants[MANY].median - wide) / (variants[RECORD].median - plain);
	printf("1024 sites round robin, steady / one hot site: %.2f   limit 1.3", spread);
	print_verdict(spread, 1.3);
	printf("\n");
	return met && spread <= 1.3 ? 0 : 1;
}
