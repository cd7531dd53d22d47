/* mpi_pace.c: a program of equal steps, as a transform has them: some arithmetic, then an exchange
 * of all with all. Given a rank, that one does a tenth more arithmetic in every step. Prints how
 * long each rank's processor took for the arithmetic of a step, for each quarter of the run. An
 * eighth of the quarter's steps were faster: a processor that others disturb is slower.
 *
 *     mpi_pace STEPS [RANK]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CELLS 20000
#define SWEEPS 40
#define MORE_SWEEPS 4 /* a tenth */
#define WORDS 256
#define QUARTERS 4

/* Work that the compiler cannot leave out. */
static double relax(double *field, int sweeps)
{
	double sum = 0;
	for (int sweep = 0; sweep < sweeps; sweep++) {
		for (int i = 1; i + 1 < CELLS; i++) {
			field[i] = 0.5 * field[i] + 0.25 * (field[i - 1] + field[i + 1]);
		}
		sum += field[CELLS / 2];
	}
	return sum;
}

static double processor_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* What an undisturbed step took in each quarter of the STEPS values of SECONDS, which are sorted.
 */
static void pace_of(double *seconds, int steps, double *ret_quarters)
{
	int length = steps / QUARTERS;
	for (int i = 0; i < QUARTERS; i++) {
		qsort(seconds + i * length, (size_t)length, sizeof(*seconds), by_value);
		ret_quarters[i] = seconds[i * length + length / 8];
	}
}

int main(int argc, char **argv)
{
	static double field[CELLS];
	double sum = 0, quarters[QUARTERS];
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int steps = argc > 1 ? atoi(argv[1]) : 1;
	int slow = argc > 2 ? atoi(argv[2]) : -1;
	double *out = calloc((size_t)size, WORDS * sizeof(*out));
	double *in = calloc((size_t)size, WORDS * sizeof(*in));
	double *seconds = calloc((size_t)steps + 1, sizeof(*seconds));
	if (!out || !in || !seconds) {
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	for (int i = 0; i < CELLS; i++) {
		field[i] = i % 7;
	}
	for (int step = 0; step < steps; step++) {
		double begin = processor_seconds();
		sum += relax(field, rank == slow ? SWEEPS + MORE_SWEEPS : SWEEPS);
		seconds[step] = processor_seconds() - begin;
		MPI_Alltoall(out, WORDS, MPI_DOUBLE, in, WORDS, MPI_DOUBLE, MPI_COMM_WORLD);
	}
	pace_of(seconds, steps, quarters);
	MPI_Gather(quarters, QUARTERS, MPI_DOUBLE, in, QUARTERS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (int i = 0; rank == 0 && i < size; i++) {
		const double *own = in + i * QUARTERS;
		printf("rank %d: %.9f %.9f %.9f %.9f s\n", i, own[0], own[1], own[2], own[3]);
	}
	if (sum < 0) {
		puts("not so");
	}
	free(out);
	free(in);
	free(seconds);
	MPI_Finalize();
	return 0;
}
