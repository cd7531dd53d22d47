/* Messages of BLACS and routines of PBLAS and ScaLAPACK on a grid of 2 by 2: scalapack_truth
 * DIRECTORY. */
#include <mpi.h>

#include "known.h"

enum { SIDE = 2, SIZE = 16, BLOCK = 4, LOCAL = SIZE / SIDE, WORK = 4096 };

/* ScaLAPACK has no header. */
void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cblacs_gridinfo(int context, int *rows, int *columns, int *row, int *column);
void Cblacs_gridexit(int context);
void Cblacs_exit(int more);
void Cblacs_barrier(int context, const char *scope);
void Cdgesd2d(int context, int m, int n, double *a, int lda, int row, int column);
void Cdgerv2d(int context, int m, int n, double *a, int lda, int row, int column);
void dgesd2d_(int *context, int *m, int *n, double *a, int *lda, int *row, int *column);
void dgerv2d_(int *context, int *m, int *n, double *a, int *lda, int *row, int *column);
void Cigebs2d(int context, const char *scope, const char *top, int m, int n, int *a, int lda);
void Cigebr2d(int context, const char *scope, const char *top, int m, int n, int *a, int lda,
	      int row, int column);
void Cdgsum2d(int context, const char *scope, const char *top, int m, int n, double *a, int lda,
	      int row, int column);
void descinit_(int *desc, int *m, int *n, int *mb, int *nb, int *row, int *column, int *context,
	       int *lld, int *info);
void pdgemm_(const char *transa, const char *transb, int *m, int *n, int *k, double *alpha,
	     double *a, int *ia, int *ja, int *desca, double *b, int *ib, int *jb, int *descb,
	     double *beta, double *c, int *ic, int *jc, int *descc, size_t length_a,
	     size_t length_b);
void pdgetrf_(int *m, int *n, double *a, int *ia, int *ja, int *desca, int *ipiv, int *info);
void pdpotrf_(const char *uplo, int *n, double *a, int *ia, int *ja, int *desca, int *info,
	      size_t length);
void pdsyev_(const char *jobz, const char *uplo, int *n, double *a, int *ia, int *ja, int *desca,
	     double *w, double *z, int *iz, int *jz, int *descz, double *work, int *lwork,
	     int *info, size_t length_jobz, size_t length_uplo);

static int context, row, column;
static int one = 1, size = SIZE;
static int desc[9];

static void use_messages(void)
{
	double block[6] = {row, column, 2, 3, 4, 5};
	int m = 2, n = 3, lda = 2, other = 1 - row;
	int value = 0;

	if (row == 0) {
		KNOWN(6 * 8, Cdgesd2d, context, m, n, block, lda, other, column);
		KNOWN(0, dgerv2d_, &context, &m, &n, block, &lda, &other, &column);
	} else {
		KNOWN(0, Cdgerv2d, context, m, n, block, lda, other, column);
		KNOWN(6 * 8, dgesd2d_, &context, &m, &n, block, &lda, &other, &column);
	}
	EXPECT(block[0] == 0 && block[1] == column);
	if (row == 0 && column == 0) {
		value = 42;
		KNOWN(4, Cigebs2d, context, "All", " ", 1, 1, &value, 1);
	} else {
		KNOWN(0, Cigebr2d, context, "All", " ", 1, 1, &value, 1, 0, 0);
	}
	EXPECT(value == 42);
	block[0] = 1;
	KNOWN(8, Cdgsum2d, context, "All", " ", 1, 1, block, 1, -1, 0);
	EXPECT(block[0] == SIDE * SIDE);
	KNOWN(0, Cblacs_barrier, context, "All");
}

/* The part of this process of a matrix with DIAGONAL on the diagonal and 1 elsewhere. */
static void fill(double *part, double diagonal)
{
	for (int i = 0; i < LOCAL * LOCAL; i++) {
		int local_row = i % LOCAL, local_column = i / LOCAL;
		int global_row = (local_row / BLOCK * SIDE + row) * BLOCK + local_row % BLOCK;
		int global_column =
		    (local_column / BLOCK * SIDE + column) * BLOCK + local_column % BLOCK;

		part[i] = global_row == global_column ? diagonal : 1;
	}
}

static void use_routines(void)
{
	static double a[LOCAL * LOCAL], b[LOCAL * LOCAL], c[LOCAL * LOCAL], w[SIZE], work[WORK];
	int pivots[LOCAL + BLOCK], info, work_size = WORK;
	double alpha = 1, beta = 0;

	fill(a, 1);
	fill(b, 1);
	KNOWN(0, pdgemm_, "N", "N", &size, &size, &size, &alpha, a, &one, &one, desc, b, &one, &one,
	      desc, &beta, c, &one, &one, desc, 1, 1);
	EXPECT(c[0] == SIZE);
	fill(a, SIZE);
	KNOWN(0, pdgetrf_, &size, &size, a, &one, &one, desc, pivots, &info);
	EXPECT(info == 0);
	fill(a, SIZE);
	KNOWN(0, pdpotrf_, "L", &size, a, &one, &one, desc, &info, 1);
	EXPECT(info == 0);
	fill(a, SIZE);
	KNOWN(0, pdsyev_, "V", "L", &size, a, &one, &one, desc, w, c, &one, &one, desc, work,
	      &work_size, &info, 1, 1);
	EXPECT(info == 0 && w[0] > SIZE - 1.001 && w[SIZE - 1] < 2 * SIZE - 0.999);
}

int main(int argc, char **argv)
{
	int rows, columns, rank, zero = 0, block = BLOCK, lld = LOCAL, info;

	EXPECT(argc == 2);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	Cblacs_get(0, 0, &context);
	KNOWN(0, Cblacs_gridinit, &context, "Row", SIDE, SIDE);
	Cblacs_gridinfo(context, &rows, &columns, &row, &column);
	descinit_(desc, &size, &size, &block, &block, &zero, &zero, &context, &lld, &info);
	EXPECT(info == 0);
	use_messages();
	use_routines();
	KNOWN(0, Cblacs_gridexit, context);
	KNOWN(0, Cblacs_exit, 1);
	MPI_Finalize();
	known_write(argv[0], argv[1], rank);
	return 0;
}
