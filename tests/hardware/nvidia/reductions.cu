/*
 * reductions: collectives of NCCL in a communicator of one rank, of known number and size, on a real GPU. Prints them as one JSON object.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <nccl.h>

#define ELEMENTS (4u << 20)
#define REDUCTIONS 30
#define BROADCASTS 10

#define NEED(call)                                                                                     \
	do {                                                                                           \
		int error_ = (int)(call);                                                              \
		if (error_ != 0) {                                                                     \
			fprintf(stderr, "reductions: %s: error %d\n", #call, error_);                  \
			exit(1);                                                                       \
		}                                                                                      \
	} while (0)

int main()
{
	const size_t bytes = ELEMENTS * sizeof(float);
	float *from, *to;
	cudaStream_t stream;
	ncclComm_t communicator;
	int device = 0;
	NEED(ncclCommInitAll(&communicator, 1, &device));
	NEED(cudaMalloc(&from, bytes));
	NEED(cudaMalloc(&to, bytes));
	NEED(cudaStreamCreate(&stream));
	for (int i = 0; i < REDUCTIONS; i++) {
		NEED(ncclAllReduce(from, to, ELEMENTS, ncclFloat, ncclSum, communicator, stream));
	}
	for (int i = 0; i < BROADCASTS; i++) {
		NEED(ncclBroadcast(from, to, ELEMENTS, ncclFloat, 0, communicator, stream));
	}
	NEED(cudaStreamSynchronize(stream));
	NEED(ncclCommDestroy(communicator));
	NEED(cudaFree(from));
	NEED(cudaFree(to));
	printf("{\"ncclAllReduce\": {\"calls\": %d, \"bytes\": %zu}, \"ncclBroadcast\": {\"calls\": %d, \"bytes\": %zu}}\n", REDUCTIONS,
	       REDUCTIONS * bytes, BROADCASTS, BROADCASTS * bytes);
	return 0;
}
