/* Tutorial: find the hang. A training loop of which one rank waits for its data. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

/* Returns the first byte of the rank's part of the data, shard-RANK. */
static double load_batch(int rank)
{
	char name[32], byte = 0;

	snprintf(name, sizeof(name), "shard-%d", rank);
	int file = open(name, O_RDONLY);
	if (file >= 0) {
		(void)!read(file, &byte, 1);
		close(file);
	}
	return byte;
}

static double step(int rank)
{
	double own = load_batch(rank), all = 0;

	MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

int main(int argc, char **argv)
{
	double sum = 0;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 3; i++) {
		sum += step(rank);
	}
	if (rank == 0) {
		printf("sum %g\n", sum);
	}
	MPI_Finalize();
	return 0;
}
