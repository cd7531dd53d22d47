/* Transforms of FFTW over all ranks: fftw_mpi_truth DIRECTORY. */
#include <fftw3-mpi.h>

#include "known.h"

enum { ROWS = 32, COLUMNS = 16, ROUNDS = 5 };

int main(int argc, char **argv)
{
	ptrdiff_t rows, first;
	int rank;

	EXPECT(argc == 2);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	KNOWN(0, fftw_mpi_init);
	ptrdiff_t size = fftw_mpi_local_size_2d(ROWS, COLUMNS, MPI_COMM_WORLD, &rows, &first);
	fftw_complex *data = fftw_alloc_complex((size_t)size);
	fftw_complex *other = fftw_alloc_complex((size_t)size);
	fftw_plan plan = KNOWN(0, fftw_mpi_plan_dft_2d, ROWS, COLUMNS, data, data, MPI_COMM_WORLD,
			       FFTW_FORWARD, FFTW_ESTIMATE);

	EXPECT(plan);
	for (ptrdiff_t i = 0; i < rows * COLUMNS; i++) {
		data[i][0] = 1;
		data[i][1] = 0;
	}
	KNOWN(0, fftw_execute, plan);
	EXPECT(rank != 0 || data[0][0] == ROWS * COLUMNS);
	KNOWN(0, fftw_destroy_plan, plan);
	plan = KNOWN(0, fftw_mpi_plan_dft_2d, ROWS, COLUMNS, data, other, MPI_COMM_WORLD,
		     FFTW_BACKWARD, FFTW_ESTIMATE);
	for (int i = 0; i < ROUNDS; i++) {
		KNOWN(0, fftw_mpi_execute_dft, plan, data, other);
	}
	KNOWN(0, fftw_destroy_plan, plan);
	KNOWN(0, fftw_mpi_gather_wisdom, MPI_COMM_WORLD);
	KNOWN(0, fftw_mpi_broadcast_wisdom, MPI_COMM_WORLD);
	fftw_free(data);
	fftw_free(other);
	KNOWN(0, fftw_mpi_cleanup);
	MPI_Finalize();
	known_write(argv[0], argv[1], rank);
	return 0;
}
