/* bench_described: ns that a call of a function adds that the shipped hooks describe, beside the
 * same function under a bare pattern.
 *
 * The functions do next to nothing (tests/integration/frame/described_library.c). Variants take
 * turns, a short burst each; a figure is the lower quartile of its bursts. What a call adds differs
 * by up to 3 ns with the addresses of its statistics, which lie in the order of the first calls. So
 * forked processes call the functions first in every order of a rotation, and a function's figure
 * is the median over them. The unit is what the
 * level needs of the clock: `rdtsc` twice, or `rdtsc` and `rdtscp` where the way out is ordered.
 * Prints one line per function and exits with 1 if a limit is missed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define ROUNDS 201
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
#define LAYOUTS FUNCTIONS
#define SEND 1u /* the receive follows */

/* Lower quartiles of one process. */
struct figures {
	double unit[2];
	double function[FUNCTIONS][FORMS];
};

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

static double quartile(struct variant *variant)
{
	qsort(variant->ns, ROUNDS, sizeof(double), ascending);
	return variant->ns[ROUNDS / 4];
}

/* Measures all functions, function FIRST first. */
static void measure(unsigned first, struct figures *ret_figures)
{
	for (int round = -5; round < ROUNDS; round++) {
		take_turn(&unit[0], round);
		take_turn(&unit[1], round);
		for (unsigned i = 0; i < FUNCTIONS; i++) {
			for (int form = 0; form < FORMS; form++) {
				take_turn(&functions[(first + i) % FUNCTIONS].form[form], round);
			}
		}
		/* The collector gives pages back meanwhile. */
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
	ret_figures->unit[0] = quartile(&unit[0]);
	ret_figures->unit[1] = quartile(&unit[1]);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		for (int form = 0; form < FORMS; form++) {
			ret_figures->function[i][form] = quartile(&functions[i].form[form]);
		}
	}
}

/* Measures in a process of its own. Returns whether it ended well. */
static bool measure_apart(unsigned first, struct figures *ret_figures)
{
	int ended;
	pid_t child = fork();
	if (child == 0) {
		measure(first, ret_figures);
		_exit(0);
	}
	return child > 0 && waitpid(child, &ended, 0) == child && ended == 0;
}

/* Returns the median over all layouts of the figure at FIGURE of the first one. */
static double median(const double *figure)
{
	double sorted[LAYOUTS];
	for (unsigned i = 0; i < LAYOUTS; i++) {
		sorted[i] = *(const double *)(const void *)((const char *)figure +
							    i * sizeof(struct figures));
	}
	qsort(sorted, LAYOUTS, sizeof(double), ascending);
	return (sorted[(LAYOUTS - 1) / 2] + sorted[LAYOUTS / 2]) / 2;
}

/* What calls of FORM of COUNT functions from FIRST on add, over the bare ones. */
static double added(const struct figures *figures, unsigned first, unsigned count, int form)
{
	double ns = 0;
	for (unsigned i = first; i < first + count; i++) {
		ns += median(&figures->function[i][form]) - median(&figures->function[i][BARE]);
	}
	return ns;
}

/* Prints what the described calls of COUNT functions from FIRST on add, together called NAME.
 * CLOCK: the ns of the clock reads of one call. Returns whether the limits are met. */
static bool judge(const struct figures *figures, const char *name, unsigned first, unsigned count,
		  double clock)
{
	double described = added(figures, first, count, DESCRIBED);
	double plain = added(figures, first, count, PLAIN), units = described / (count * clock);
	bool met = described <= RATIO_LIMIT * plain && units <= UNIT_LIMIT;
	printf("%-18s described +%6.2f  undescribed +%6.2f  ratio %.2f  %.2f units%s\n", name,
	       described, plain, described / plain, units, met ? "  met" : "  MISSED");
	return met;
}

int main(void)
{
	struct figures *figures = mmap(NULL, LAYOUTS * sizeof(*figures), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned i = 0; i < LAYOUTS; i++) {
		if (figures == MAP_FAILED || !measure_apart(i, &figures[i])) {
			fprintf(stderr, "bench_described: cannot measure in a forked process\n");
			return 1;
		}
	}
	double unordered = median(&figures->unit[0]), ordered = median(&figures->unit[1]);
	bool met = true;
	printf("clock reads: unordered %.2f ns, ordered %.2f ns\n", unordered, ordered);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		met &= judge(figures, functions[i].name, i, 1,
			     functions[i].ordered ? ordered : unordered);
	}
	met &= judge(figures, "send and receive", SEND, 2, ordered);
	printf("limits: ratio %.1f, %.1f units\n", RATIO_LIMIT, UNIT_LIMIT);
	return met ? 0 : 1;
}
