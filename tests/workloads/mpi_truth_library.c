/* The linked library of mpi_truth: the same functions as the program calls, in other numbers. */
#include "mpi_truth.h"

static struct truth_table table = {.library = "libmpi_truth_library.so"};

void mpi_truth_library_run(MPI_Comm comm, int rounds)
{
	float values[32] = {1.0F};
	float sums[32];
	int rank;
	int size;
	MPI_Request request;

	TRUTH_CALL(&table, 0, MPI_Comm_rank, comm, &rank);
	TRUTH_CALL(&table, 0, MPI_Comm_size, comm, &size);
	for (int i = 0; i < rounds; i++) {
		TRUTH_CALL(&table, 0, MPI_Irecv, sums, 32, MPI_FLOAT, (rank + size - 1) % size, 7,
			   comm, &request);
		TRUTH_CALL(&table, 32 * sizeof(float), MPI_Send, values, 32, MPI_FLOAT,
			   (rank + 1) % size, 7, comm);
		TRUTH_CALL(&table, 0, MPI_Wait, &request, MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < 2 * rounds + 1; i++) {
		TRUTH_CALL(&table, 9 * sizeof(float), MPI_Allreduce, values, sums, 9, MPI_FLOAT,
			   MPI_SUM, comm);
	}
}

const struct truth_table *mpi_truth_library_table(void)
{
	return &table;
}
