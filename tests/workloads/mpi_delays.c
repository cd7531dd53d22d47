/* mpi_delays.c: known delays in known functions. In each step all ranks sleep for a moment in
 * steady(). Rank LATE then sleeps for MS milliseconds in fetch(), and a message goes from it
 * through all other ranks, so each of them waits for the one before. Behind a barrier rank HEAVY
 * computes for MS milliseconds in no hooked call, and all sum up. Each rank notes when it entered
 * its calls, by the clock that all processes of a machine share, and how long it slept or computed:
 *
 *     STEP RANK FUNCTION ENTER_NS DURATION_NS
 *
 *     mpi_delays STEPS LATE HEAVY MS FILE
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOTES_MOST 65536
#define STEADY_NS 1000000

static struct note {
	int step;
	const char *function;
	int64_t enter_ns, duration_ns;
} notes[NOTES_MOST];
static int note_count, rank, ranks;
static volatile double sink;

static int64_t now_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Makes the call CODE between two looks at the clock. */
#define NOTED(at_step, called, code)                           \
	do {                                                   \
		struct note *note = &notes[note_count++];      \
		note->step = (at_step);                        \
		note->function = (called);                     \
		note->enter_ns = now_ns();                     \
		code;                                          \
		note->duration_ns = now_ns() - note->enter_ns; \
	} while (0)

static void pause_ns(long ns)
{
	struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	nanosleep(&time, NULL);
}

__attribute__((noinline)) void steady(void)
{
	pause_ns(STEADY_NS);
	sink += 1;
}

__attribute__((noinline)) void fetch(long ns)
{
	pause_ns(ns);
	sink += 1;
}

__attribute__((noinline)) void grind(int64_t ns)
{
	int64_t end = now_ns() + ns;
	while (now_ns() < end) {
		sink += 1;
	}
}

/* A message goes from rank LATE through all ranks. */
static void pass(int step, int late)
{
	int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
	double value = step;
	if (rank != late) {
		NOTED(step, "MPI_Recv",
		      MPI_Recv(&value, 1, MPI_DOUBLE, previous, 1, MPI_COMM_WORLD,
			       MPI_STATUS_IGNORE));
	}
	if (next != late) {
		NOTED(step, "MPI_Send", MPI_Send(&value, 1, MPI_DOUBLE, next, 1, MPI_COMM_WORLD));
	}
}

static void write_notes(const char *name)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s.%d", name, rank);
	FILE *file = fopen(path, "w");
	for (int i = 0; file && i < note_count; i++) {
		fprintf(file, "%d %d %s %lld %lld\n", notes[i].step, rank, notes[i].function,
			(long long)notes[i].enter_ns, (long long)notes[i].duration_ns);
	}
	if (!file || fclose(file)) {
		MPI_Abort(MPI_COMM_WORLD, 3);
	}
}

int main(int argc, char **argv)
{
	int steps = argc == 6 ? atoi(argv[1]) : 0;
	if (steps <= 0 || steps > NOTES_MOST / 8) {
		fputs("usage: mpi_delays STEPS LATE HEAVY MS FILE\n", stderr);
		return 2;
	}
	int late = atoi(argv[2]), heavy = atoi(argv[3]);
	long more_ns = atol(argv[4]) * 1000000;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int step = 0; step < steps; step++) {
		double mine = rank, sum;
		NOTED(step, "MPI_Barrier", MPI_Barrier(MPI_COMM_WORLD));
		steady();
		if (rank == late) {
			NOTED(step, "fetch", fetch(more_ns));
		}
		pass(step, late);
		NOTED(step, "MPI_Barrier", MPI_Barrier(MPI_COMM_WORLD));
		if (rank == heavy) {
			NOTED(step, "grind", grind(more_ns));
		}
		NOTED(step, "MPI_Allreduce",
		      MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
		sink += sum;
	}
	write_notes(argv[5]);
	MPI_Finalize();
	return 0;
}
