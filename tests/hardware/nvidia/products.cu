/*
 * products: products of matrices by cuBLAS, of known number and size, on a real GPU. Prints the number and the time between two events
 * around them as one JSON object.
 */
#include <cstdio>
#include <cstdlib>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#define SIZE 4096
#define PRODUCTS 40
#define WARMUP 5

#define NEED(call)                                                                                     \
	do {                                                                                           \
		int error_ = (int)(call);                                                              \
		if (error_ != 0) {                                                                     \
			fprintf(stderr, "products: %s: error %d\n", #call, error_);                    \
			exit(1);                                                                       \
		}                                                                                      \
	} while (0)

static void multiply(cublasHandle_t handle, const float *a, const float *b, float *c)
{
	const float one = 1, zero = 0;
	NEED(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, SIZE, SIZE, SIZE, &one, a, SIZE, b, SIZE, &zero, c, SIZE));
}

int main()
{
	const size_t bytes = (size_t)SIZE * SIZE * sizeof(float);
	float *a, *b, *c, ms;
	cublasHandle_t handle;
	cudaEvent_t begin, end;
	NEED(cudaMalloc(&a, bytes));
	NEED(cudaMalloc(&b, bytes));
	NEED(cudaMalloc(&c, bytes));
	NEED(cudaMemset(a, 0x3c, bytes));
	NEED(cudaMemset(b, 0x3c, bytes));
	NEED(cublasCreate(&handle));
	for (int i = 0; i < WARMUP; i++) {
		multiply(handle, a, b, c);
	}
	NEED(cudaEventCreate(&begin));
	NEED(cudaEventCreate(&end));
	NEED(cudaEventRecord(begin, 0));
	for (int i = 0; i < PRODUCTS; i++) {
		multiply(handle, a, b, c);
	}
	NEED(cudaEventRecord(end, 0));
	NEED(cudaEventSynchronize(end));
	NEED(cudaEventElapsedTime(&ms, begin, end));
	NEED(cublasDestroy(handle));
	NEED(cudaFree(a));
	NEED(cudaFree(b));
	NEED(cudaFree(c));
	printf("{\"products\": %d, \"event_ns\": %.0f, \"timed\": %d}\n", PRODUCTS + WARMUP, ms * 1e6, PRODUCTS);
	return 0;
}
