/*
 * A training loop's shape on simulated devices: mpirun -n N cuda_steps. Every rank makes STEPS
 * steps; in each it launches 3 + rank kernels, copies, sets, waits and sums over the ranks. Rank 0
 * has a child that calls CUDA too. test_kineto.py knows the counts.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooktrace.h"
#include "simcuda.h"

#define STEPS 6
#define BYTES 65536

/* Names that have to come through every format, and one that is not UTF-8. */
static const char *const awkward[] = {
    "say \"x\"", "line\nbreak\ttab", "</script><b>", "\033[31mred", "back\\slash", "caf\xe9",
};

static void need(int result)
{
	if (result != SIM_SUCCESS) {
		fprintf(stderr, "cuda_steps: a call failed with %d\n", result);
		exit(1);
	}
}

/* Some microseconds of work. */
static void kernel(void **arguments, const unsigned *shape)
{
	double *values = *(double **)arguments[0];

	for (unsigned i = 0; i < BYTES / sizeof(*values); i++) {
		values[i] = values[i] * 0.5 + shape[0];
	}
}

static void one_step(int step, int rank, double *device, double *host, CUstream stream)
{
	const struct dim3 grid = {1, 1, 1}, block = {32, 1, 1};
	void *arguments[] = {&device};
	double sum;

	hk_step((uint64_t)step);
	hk_range_push("forward");
	for (int i = 0; i < 3 + rank; i++) {
		need(cudaLaunchKernel((const void *)(uintptr_t)kernel, grid, block, arguments, 0,
				      stream));
	}
	hk_range_pop();
	hk_range_push(awkward[step % 6]);
	need(cudaMemcpyAsync(host, device, BYTES, 2, stream));
	need(cudaMemset(device, 0, BYTES));
	hk_range_pop();
	need(cudaStreamSynchronize(stream));
	MPI_Allreduce(host, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	hk_counter("loss", sum);
}

static void have_child(void)
{
	int count;
	pid_t child = fork();

	if (child == 0) {
		need(cudaGetDeviceCount(&count));
		_exit(0);
	}
	if (child > 0) {
		waitpid(child, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static double host[BYTES / sizeof(double)];
	void *device;
	CUstream stream;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	need(cudaSetDevice(rank % SIM_DEVICES));
	need(cudaStreamCreate(&stream));
	need(cudaMalloc(&device, BYTES));
	for (int step = 0; step < STEPS; step++) {
		one_step(step, rank, device, host, stream);
	}
	if (rank == 0) {
		have_child();
	}
	need(cudaFree(device));
	need(cudaStreamDestroy(stream));
	MPI_Finalize();
	return 0;
}
