/* bench_described: ns that a call of a function adds that the shipped hooks describe, beside the
 * same function under a bare pattern.
 *
 * The functions do next to nothing (tests/integration/frame/described_library.c). Variants take
 * turns, a short burst each; a figure is the lower quartile of its bursts. The unit is what the
 * level needs of the clock: `rdtsc` twice, or `rdtsc` and `rdtscp` where the way out is ordered.
 * Prints one line per function and exits with 1 if a limit is missed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#define ROUNDS 401
#define BURST 1024
#define RATIO_LIMIT 1.2
#define UNIT_LIMIT 1.9

#define WORLD 0x44000000
#define INT 0x4c000405

/* clang-format off */
#define DECLARE(type, name, ...) type name(__VA_ARGS__); type plain_##name(__VA_ARGS__); type bare_##name(__VA_ARGS__);
DECLARE(double, ddot_, const int *, const double *, const int *, const double *, const int *)
DECLARE(int, MPI_Ssend, const void *, int, int, int, int, int)
DECLARE(int, MPI_Recv, void *, int, int, int, int, int, void *)
DECLARE(int, MPI_Allreduce, const void *, void *, int, int, int, int)
DECLARE(int, MPI_Bcast, void *, int, int, int, int)
DECLARE(int, cudaLaunchKernel, const void *, unsigned long, unsigned, unsigned long, unsigned, void **, size_t, void *)
DECLARE(int, cudaMemcpyAsync, void *, const void *, size_t, int, void *)
DECLARE(long, __read_chk, int, void *, size_t, size_t)
/* clang-format on */

static const int one = 1, three = 3;
static double numbers[4] = {1, 2, 3, 4};
static int status[6];
static void *pointers[2];
static double sum;

#define BURST_OF(name, ...)                               \
	static void run_##name(void)                      \
	{                                                 \
		for (int i = 0; i < BURST; i++) {         \
			sum += (double)name(__VA_ARGS__); \
		}                                         \
	}
#define BURSTS_OF(name, ...)                \
	BURST_OF(name, __VA_ARGS__)         \
	BURST_OF(plain_##name, __VA_ARGS__) \
	BURST_OF(bare_##name, __VA_ARGS__)

BURSTS_OF(ddot_, &three, numbers, &one, numbers, &one)
BURSTS_OF(MPI_Ssend, numbers, 1, INT, 1, 7, WORLD)
BURSTS_OF(MPI_Recv, numbers, 1, INT, 1, 7, WORLD, status)
BURSTS_OF(MPI_Allreduce, numbers, numbers + 1, 1, INT, 3, WORLD)
BURSTS_OF(MPI_Bcast, numbers, 1, INT, 1, WORLD)
BURSTS_OF(cudaLaunchKernel, numbers, 1, 1, 1, 1, pointers, 0, NULL)
BURSTS_OF(cudaMemcpyAsync, numbers, numbers + 1, 8, 3, NULL)
BURSTS_OF(__read_chk, 3, numbers, 8, 16)

static void run_unordered(void)
{
	for (int i = 0; i < BURST; i++) {
		(void)__rdtsc();
		(void)__rdtsc();
		__asm__ volatile("");
	}
}

static void run_ordered(void)
{
	unsigned processor;
	for (int i = 0; i < BURST; i++) {
		(void)__rdtsc();
		(void)__rdtscp(&processor);
		__asm__ volatile("");
	}
}

struct variant {
	void (*run)(void);
	double ns[ROUNDS];
	double quartile;
};

enum { DESCRIBED, PLAIN, BARE, FORMS };

static struct {
	const char *name;
	bool ordered; /* the described call's way out; an undescribed one's always is */
	struct variant form[FORMS];
} functions[] = {
#define FUNCTION(name, ordered)                                         \
	{                                                               \
#name, ordered,                                         \
		{                                                       \
			{.run = run_##name}, {.run = run_plain_##name}, \
			{                                               \
				.run = run_bare_##name                  \
			}                                               \
		}                                                       \
	}
    FUNCTION(ddot_, true),
    FUNCTION(MPI_Ssend, true),
    FUNCTION(MPI_Recv, true),
    FUNCTION(MPI_Allreduce, false),
    FUNCTION(MPI_Bcast, false),
    FUNCTION(cudaLaunchKernel, false),
    FUNCTION(cudaMemcpyAsync, false),
    FUNCTION(__read_chk, true),
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static struct variant unit[2] = {{.run = run_unordered}, {.run = run_ordered}};

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

static void take_turn(struct variant *variant, int round)
{
	double start = now_ns();
	variant->run();
	if (round >= 0) {
		variant->ns[round] = (now_ns() - start) / BURST;
	}
}

static void conclude(struct variant *variant)
{
	qsort(variant->ns, ROUNDS, sizeof(double), ascending);
	variant->quartile = variant->ns[ROUNDS / 4];
}

static void measure(void)
{
	for (int round = -5; round < ROUNDS; round++) {
		take_turn(&unit[0], round);
		take_turn(&unit[1], round);
		for (unsigned i = 0; i < FUNCTIONS; i++) {
			for (int form = 0; form < FORMS; form++) {
				take_turn(&functions[i].form[form], round);
			}
		}
		/* The collector gives pages back meanwhile. */
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
	conclude(&unit[0]);
	conclude(&unit[1]);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		for (int form = 0; form < FORMS; form++) {
			conclude(&functions[i].form[form]);
		}
	}
}

int main(void)
{
	measure();
	double unordered = unit[0].quartile, ordered = unit[1].quartile;
	bool met = true;
	printf("clock reads: unordered %.2f ns, ordered %.2f ns\n", unordered, ordered);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		double bare = functions[i].form[BARE].quartile;
		double described = functions[i].form[DESCRIBED].quartile - bare;
		double plain = functions[i].form[PLAIN].quartile - bare;
		double units = described / (functions[i].ordered ? ordered : unordered);
		bool within = described <= RATIO_LIMIT * plain && units <= UNIT_LIMIT;
		printf("%-18s bare %6.2f ns  described +%6.2f  undescribed +%6.2f  ratio %.2f  "
		       "%.2f units%s\n",
		       functions[i].name, bare, described, plain, described / plain, units,
		       within ? "  met" : "  MISSED");
		met &= within;
	}
	printf("limits: ratio %.1f, %.1f units\n", RATIO_LIMIT, UNIT_LIMIT);
	return met ? 0 : 1;
}
