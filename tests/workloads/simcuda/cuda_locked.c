/*
 * Calls while another thread holds the loader's lock: mpirun -n 1 cuda_locked. The lock is taken
 * before any call of this kind, so no answer of a library is known yet. Allocates BYTES on a stream
 * of device 1 while device 0 is current, and sends COUNT doubles to itself. test_locked.py knows
 * the numbers.
 */
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "simcuda.h"

#define BYTES 400
#define COUNT 10

static pthread_barrier_t barrier;

static void need(int result, const char *what)
{
	if (result != SIM_SUCCESS) {
		fprintf(stderr, "cuda_locked: %s failed with %d\n", what, result);
		exit(1);
	}
}

static int stay(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)info;
	(void)size;
	(void)unused;
	pthread_barrier_wait(&barrier); /* the lock is held */
	pthread_barrier_wait(&barrier); /* the calls are made */
	return 1;
}

static void *hold_lock(void *unused)
{
	dl_iterate_phdr(stay, unused);
	return NULL;
}

int main(int argc, char **argv)
{
	double from[COUNT] = {0}, to[COUNT];
	MPI_Request request;
	CUstream stream;
	pthread_t holder;
	void *block;
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	need(cudaSetDevice(1), "cudaSetDevice");
	need(cudaStreamCreate(&stream), "cudaStreamCreate");
	need(cudaSetDevice(0), "cudaSetDevice");

	pthread_barrier_init(&barrier, NULL, 2);
	need(pthread_create(&holder, NULL, hold_lock, NULL), "pthread_create");
	pthread_barrier_wait(&barrier);
	need(cudaMallocAsync(&block, BYTES, stream), "cudaMallocAsync");
	MPI_Irecv(to, COUNT, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
	MPI_Send(from, COUNT, MPI_DOUBLE, 0, 0, MPI_COMM_SELF);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	pthread_barrier_wait(&barrier);
	need(pthread_join(holder, NULL), "pthread_join");

	need(cudaFreeAsync(block, stream), "cudaFreeAsync");
	need(cudaStreamDestroy(stream), "cudaStreamDestroy");
	MPI_Finalize();
	return 0;
}
