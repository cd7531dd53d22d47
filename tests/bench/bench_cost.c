/* bench_cost: what calls of one function cost that is traced, beside the same calls untraced:
 * bench_cost FUNCTION GAP [traced].
 *
 * FUNCTION is a name of the table below. GAP is the ns of work between two calls: dependent
 * multiplications, whose pace is measured first. Slices take turns, traced and bare; with "traced",
 * all are traced. Prints the calls made by the traced name and the ns that each of them added: the
 * median over the pairs of slices. bench_cost.py compares that with the cost that the report
 * estimates.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAIRS 1500
#define SLICE_CALLS 512
#define GAP_CALLS 256 /* with a gap: a slice stays short */

/* clang-format off */
#define DECLARE(type, name, ...) type name(__VA_ARGS__); type plain_##name(__VA_ARGS__); type bare_##name(__VA_ARGS__);
DECLARE(double, ddot_, const int *, const double *, const int *, const double *, const int *)
DECLARE(int, MPI_Ssend, const void *, int, int, int, int, int)
DECLARE(int, cudaLaunchKernel, const void *, unsigned long, unsigned, unsigned long, unsigned, void **, size_t, void *)
/* clang-format on */

static const int one = 1, three = 3;
static double numbers[4] = {1, 2, 3, 4};
static void *pointers[2];
static volatile double work = 1;
static double sum;

#define SLICE_OF(name, ...)                               \
	static void slice_##name(int count, int gap)      \
	{                                                 \
		for (int i = 0; i < count; i++) {         \
			sum += (double)name(__VA_ARGS__); \
			for (int k = 0; k < gap; k++) {   \
				work = work * 1.0000001;  \
			}                                 \
		}                                         \
	}
SLICE_OF(ddot_, &three, numbers, &one, numbers, &one)
SLICE_OF(plain_ddot_, &three, numbers, &one, numbers, &one)
SLICE_OF(bare_ddot_, &three, numbers, &one, numbers, &one)
SLICE_OF(MPI_Ssend, numbers, 1, 0x4c000405, 1, 7, 0x44000000)
SLICE_OF(bare_MPI_Ssend, numbers, 1, 0x4c000405, 1, 7, 0x44000000)
SLICE_OF(cudaLaunchKernel, numbers, 1, 1, 1, 1, pointers, 0, NULL)
SLICE_OF(bare_cudaLaunchKernel, numbers, 1, 1, 1, 1, pointers, 0, NULL)

static const struct {
	const char *name;
	void (*traced)(int, int);
	void (*bare)(int, int);
} functions[] = {
    {"ddot_", slice_ddot_, slice_bare_ddot_},
    {"plain_ddot_", slice_plain_ddot_, slice_bare_ddot_},
    {"MPI_Ssend", slice_MPI_Ssend, slice_bare_MPI_Ssend},
    {"cudaLaunchKernel", slice_cudaLaunchKernel, slice_bare_cudaLaunchKernel},
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

static double time_slice(void (*slice)(int, int), int count, int gap)
{
	double start = now_ns();
	slice(count, gap);
	return (now_ns() - start) / count;
}

/* Returns how many multiplications take NS: the most of a few tries, as others interrupt. */
static int multiplications(int ns)
{
	double most = 0;
	for (int try = 0; try < 20; try++) {
		double start = now_ns();
		for (int k = 0; k < 10000; k++) {
			work = work * 1.0000001;
		}
		double fit = ns * 10000 / (now_ns() - start);
		most = fit > most ? fit : most;
	}
	return (int)most;
}

int main(int argc, char **argv)
{
	static double added[PAIRS];
	bool all = argc > 3;
	int gap_ns = argc > 2 ? atoi(argv[2]) : 0, count = gap_ns ? GAP_CALLS : SLICE_CALLS;
	int gap = multiplications(gap_ns);

	for (unsigned i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (argc < 2 || strcmp(functions[i].name, argv[1]) != 0) {
			continue;
		}
		for (int pair = 0; pair < PAIRS; pair++) {
			double traced = time_slice(functions[i].traced, count, gap);
			added[pair] = all ? 0 : traced - time_slice(functions[i].bare, count, gap);
			if (pair % 16 == 0) { /* the collector gives pages back */
				nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
			}
		}
		qsort(added, PAIRS, sizeof(double), ascending);
		printf("%d %.2f\n", PAIRS * count, added[PAIRS / 2]);
		return 0;
	}
	fprintf(stderr, "usage: bench_cost FUNCTION GAP [traced]\n");
	return 2;
}
