/* mpi_stuck.c: a job in which one rank does not come: it reads a file that has nothing to read. All
 * others wait for it in a barrier. Prints "late" where a rank waits, then ends with the file.
 *
 *     mpi_stuck RANK FIFO
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) static void load_batch(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY);
	sink += read(fd, &byte, 1);
	sink += close(fd);
}

__attribute__((noinline)) static void sum_all(void)
{
	sink += MPI_Barrier(MPI_COMM_WORLD);
}

__attribute__((noinline)) static void step(int late, const char *path)
{
	if (late) {
		load_batch(path);
	}
	sum_all();
	sink++;
}

int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc < 3) {
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	step(rank == (int)strtol(argv[1], NULL, 10), argv[2]);
	MPI_Finalize();
	return 0;
}
