/*
 * The plugin of mpi_truth, opened by path. Its calls wait for a rank that comes about 3 ms late, so
 * that the program's own clock around them can be compared with the tracer's: rows with a mean of 1
 * ms or more.
 */
#include <errno.h>

#include "mpi_truth.h"

#define LATE_NS 3000000L

static struct truth_table table = {.library = "libmpi_truth_plugin.so"};

static void come_late(void)
{
	struct timespec left = {.tv_nsec = LATE_NS};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
	}
}

static void late_sender(MPI_Comm comm, int rank, int size)
{
	long value = rank;

	if (rank == 0) {
		come_late();
		for (int peer = 1; peer < size; peer++) {
			TRUTH_CALL(&table, sizeof(value), MPI_Send, &value, 1, MPI_LONG, peer, 1,
				   comm);
		}
	} else {
		TRUTH_CALL(&table, 0, MPI_Recv, &value, 1, MPI_LONG, 0, 1, comm, MPI_STATUS_IGNORE);
	}
}

static void late_receiver(MPI_Comm comm, int rank, int size)
{
	long value = rank;
	MPI_Request request;

	if (rank == size - 1) {
		come_late();
		for (int peer = 0; peer < rank; peer++) {
			TRUTH_CALL(&table, 0, MPI_Irecv, &value, 1, MPI_LONG, peer, 2, comm,
				   &request);
			TRUTH_CALL(&table, 0, MPI_Wait, &request, MPI_STATUS_IGNORE);
		}
	} else {
		TRUTH_CALL(&table, sizeof(value), MPI_Ssend, &value, 1, MPI_LONG, size - 1, 2,
			   comm);
	}
}

static void late_collective(MPI_Comm comm, int rank)
{
	double mine = rank;
	double sum;

	if (rank == 1) {
		come_late();
	}
	TRUTH_CALL(&table, sizeof(mine), MPI_Allreduce, &mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}

void mpi_truth_plugin_run(MPI_Comm comm, int rounds, void (*align)(MPI_Comm comm))
{
	int rank;
	int size;

	TRUTH_CALL(&table, 0, MPI_Comm_rank, comm, &rank);
	TRUTH_CALL(&table, 0, MPI_Comm_size, comm, &size);
	for (int i = 0; i < rounds; i++) {
		align(comm);
		late_sender(comm, rank, size);
		align(comm);
		late_receiver(comm, rank, size);
		align(comm);
		late_collective(comm, rank);
	}
}

const struct truth_table *mpi_truth_plugin_table(void)
{
	return &table;
}
