/* mpi_files.c: each rank reads and writes a file of its own in steps, and sums up with the others.
 *
 *     mpi_files HOW STEPS
 *
 * HOW: read, write, sync (a write and an fsync in each step). Files are made in the current
 * directory. Prints "RANK BYTES NS": what it read and wrote in the steps, and for how long.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PART 65536

static char part[PART];

static long step(int file, const char *how)
{
	ssize_t done =
	    strcmp(how, "read") == 0 ? pread(file, part, PART, 0) : pwrite(file, part, PART, 0);
	if (strcmp(how, "sync") == 0 && fsync(file) != 0) {
		MPI_Abort(MPI_COMM_WORLD, 3);
	}
	return done;
}

static long now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(int argc, char **argv)
{
	char name[32];
	long bytes = 0, spent_ns = 0;
	int rank;
	if (argc != 3) {
		fputs("usage: mpi_files HOW STEPS\n", stderr);
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof(name), "part.%d", rank);
	int file = open(name, O_RDWR | O_CREAT, 0600);
	if (file < 0 || pwrite(file, part, PART, 0) != PART) {
		MPI_Abort(MPI_COMM_WORLD, 3);
	}
	for (int i = atoi(argv[2]); i > 0; i--) {
		long begin_ns = now_ns();
		bytes += step(file, argv[1]);
		spent_ns += now_ns() - begin_ns;
		MPI_Barrier(MPI_COMM_WORLD);
	}
	close(file);
	printf("%d %ld %ld\n", rank, bytes, spent_ns);
	MPI_Finalize();
	return 0;
}
