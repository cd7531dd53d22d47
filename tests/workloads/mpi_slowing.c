/* mpi_slowing.c: a program of steps whose work is counted in processor time. From one step on, one
 * rank or all have more of it. Each rank notes how long each step took by the wall clock, and its
 * own part of it: more than its work, where other processes had the processor.
 *
 *     mpi_slowing RANK STEP PERCENT STEPS SEED NOTES
 *
 * RANK: a number, "all" or "none". Rank N writes a line for each step to NOTES.N: its own part and
 * all of it, in ns.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORK_NS 1000000.0
#define NOISE 0.1

static uint64_t state_of_chance;
static volatile double sink;

/* 0 to 1. */
static double uniform(void)
{
	state_of_chance = state_of_chance * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (double)(state_of_chance >> 33) / 2147483648.0;
}

static double now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Computes for NS of this thread's processor time. */
static void work(double ns)
{
	double end_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
		for (int i = 0; i < 1000; i++) {
			sink += i;
		}
	}
}

static int notes_write(const char *path, int rank, const double *own_ns, const double *whole_ns,
		       int steps)
{
	char name[4096];
	snprintf(name, sizeof(name), "%s.%d", path, rank);
	FILE *notes = fopen(name, "w");
	for (int step = 0; notes && step < steps; step++) {
		fprintf(notes, "%.0f %.0f\n", own_ns[step], whole_ns[step]);
	}
	return notes && fclose(notes) == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	int rank;
	if (argc != 7) {
		fputs("usage: mpi_slowing RANK STEP PERCENT STEPS SEED NOTES\n", stderr);
		return 2;
	}
	int slow = strcmp(argv[1], "all") == 0	  ? -1
		   : strcmp(argv[1], "none") == 0 ? -2
						  : atoi(argv[1]);
	int from = atoi(argv[2]), steps = atoi(argv[4]);
	double factor = 1 + atof(argv[3]) / 100;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	double *own_ns = calloc(2 * (size_t)steps + 2, sizeof(*own_ns));
	double *whole_ns = own_ns + steps + 1, end_ns = now_ns(CLOCK_MONOTONIC);
	state_of_chance = strtoull(argv[5], NULL, 10) * 1000 + (uint64_t)rank;
	for (int step = 0; own_ns && step < steps; step++) {
		double mine = rank, sum, begin_ns = end_ns;
		double more = step >= from && (slow == rank || slow == -1) ? factor : 1;
		work(WORK_NS * more * (1 + NOISE * (uniform() - 0.5)));
		own_ns[step] = now_ns(CLOCK_MONOTONIC) - begin_ns;
		MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		end_ns = now_ns(CLOCK_MONOTONIC);
		whole_ns[step] = end_ns - begin_ns;
		sink += sum;
	}
	if (!own_ns || notes_write(argv[6], rank, own_ns, whole_ns, steps)) {
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	free(own_ns);
	MPI_Finalize();
	return 0;
}
