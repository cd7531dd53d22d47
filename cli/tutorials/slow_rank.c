/* Tutorial: find the slow rank. A solver of which one rank is late. */
#include <mpi.h>
#include <stdio.h>

/* Does work that the compiler cannot remove. */
static double relax(double *field, int cells, int sweeps)
{
	double sum = 0;

	for (int sweep = 0; sweep < sweeps; sweep++) {
		for (int i = 1; i + 1 < cells; i++) {
			field[i] = 0.5 * field[i] + 0.25 * (field[i - 1] + field[i + 1]);
		}
		sum += field[cells / 2];
	}
	return sum;
}

int main(int argc, char **argv)
{
	static double field[20000];
	double sum, all = 0;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 20000; i++) {
		field[i] = i % 7;
	}
	for (int step = 0; step < 1000; step++) {
		/* The mistake: rank 2 has 1.5 times the work. */
		sum = relax(field, 20000, rank == 2 ? 60 : 40);
		MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	if (rank == 0) {
		printf("sum %g\n", all);
	}
	MPI_Finalize();
	return 0;
}
