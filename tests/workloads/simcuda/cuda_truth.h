/*
 * What cuda_truth and its library have in common: calls of the simulated CUDA that are booked as
 * they are made, and blocks that know what they are. The functions are inline so that each half
 * calls out of its own object.
 */
#ifndef HK_WORKLOADS_CUDA_TRUTH_H
#define HK_WORKLOADS_CUDA_TRUTH_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "simcuda.h"

#define CUDA_FUNCTIONS(X)          \
	X(cudaSetDevice)           \
	X(cudaGetDevice)           \
	X(cudaMalloc)              \
	X(cudaMallocPitch)         \
	X(cudaMalloc3D)            \
	X(cudaMallocAsync)         \
	X(cudaMallocAsync_ptsz)    \
	X(cudaMallocManaged)       \
	X(cudaMallocHost)          \
	X(cudaHostAlloc)           \
	X(cudaHostRegister)        \
	X(cudaHostUnregister)      \
	X(cudaFree)                \
	X(cudaFreeAsync)           \
	X(cudaFreeHost)            \
	X(cudaMemcpy)              \
	X(cudaMemcpy_ptds)         \
	X(cudaMemcpyAsync)         \
	X(cudaMemcpy2D)            \
	X(cudaMemset)              \
	X(cudaMemset3D)            \
	X(cudaLaunchKernel)        \
	X(__cudaLaunchKernel)      \
	X(__cudaLaunchKernel_ptsz) \
	X(cudaLaunchKernelExC)     \
	X(cudaStreamCreate)        \
	X(cudaStreamDestroy)       \
	X(cudaStreamSynchronize)   \
	X(cudaStreamQuery)         \
	X(cudaEventCreate)         \
	X(cudaEventRecord)         \
	X(cudaEventSynchronize)    \
	X(cudaEventDestroy)        \
	X(cudaDeviceSynchronize)   \
	X(cuMemAlloc_v2)           \
	X(cuMemFree_v2)            \
	X(cuMemCreate)             \
	X(cuMemRelease)            \
	X(cuMemcpyHtoD_v2)         \
	X(cuLaunchKernel)

#define CUDA_ENUM(name) CUDA_##name,
enum cuda_function { CUDA_FUNCTIONS(CUDA_ENUM) CUDA_FUNCTION_COUNT };

enum cuda_memory {
	CUDA_DEVICE, /* plus the device */
	CUDA_MANAGED = CUDA_DEVICE + SIM_DEVICES,
	CUDA_PINNED = CUDA_MANAGED + SIM_DEVICES,
	CUDA_MEMORIES
};

/* Ways to allocate. The last two call the driver. */
enum cuda_way {
	CUDA_BY_MALLOC,
	CUDA_BY_PITCH,
	CUDA_BY_EXTENT,
	CUDA_BY_STREAM,
	CUDA_BY_STREAM_PER_THREAD,
	CUDA_BY_MANAGED,
	CUDA_BY_MALLOC_HOST,
	CUDA_BY_HOST_ALLOC,
	CUDA_BY_REGISTER,
	CUDA_BY_DRIVER,
	CUDA_BY_CREATE,
	CUDA_WAYS
};

struct cuda_account {
	_Atomic unsigned long long allocs, frees;
	_Atomic long long live_bytes;
	long long peak_bytes;
};

struct cuda_truth {
	const char *library;
	struct {
		_Atomic unsigned long long calls, errors, bytes;
	} rows[CUDA_FUNCTION_COUNT];
	struct cuda_account memory[CUDA_MEMORIES];
};

struct cuda_block {
	void *pointer;
	size_t size; /* bytes it counts for */
	enum cuda_way way;
	enum cuda_memory memory;
	struct cuda_truth *owner;
};

/* The library half. */
#define CUDA_TRUTH_PUBLIC __attribute__((visibility("default")))
CUDA_TRUTH_PUBLIC struct cuda_truth *cuda_truth_library(void);
CUDA_TRUTH_PUBLIC void cuda_truth_library_allocate(struct cuda_block *block, enum cuda_way way,
						   int device, CUstream stream, size_t size);
CUDA_TRUTH_PUBLIC void cuda_truth_library_release(struct cuda_block *block, CUstream stream);
CUDA_TRUTH_PUBLIC void cuda_truth_library_use(CUstream stream);

/* Writes a number that depends on every argument of the launch. */
static inline void cuda_kernel(void **arguments, const unsigned *shape)
{
	unsigned long *sum = *(unsigned long **)arguments[0];

	*sum = *(int *)arguments[1] == 42 ? 0 : 1;
	for (int i = 0; i < 7; i++) {
		*sum = *sum * 100 + shape[i];
	}
}
#define CUDA_KERNEL_SUM 10203040506ul * 100 + 77 /* grid 1 2 3, block 4 5 6, 77 bytes shared */

static inline int cuda_book(struct cuda_truth *truth, enum cuda_function function, int result,
			    size_t bytes)
{
	atomic_fetch_add(&truth->rows[function].calls, 1);
	atomic_fetch_add(&truth->rows[function].bytes, bytes);
	if (result != SIM_SUCCESS && result != SIM_NOT_READY) {
		atomic_fetch_add(&truth->rows[function].errors, 1);
	}
	return result;
}

#define CUDA_CALL(truth, bytes, function, ...) \
	cuda_book(truth, CUDA_##function, function(__VA_ARGS__), bytes)

static inline void cuda_need(int got, int wanted, const char *what)
{
	if (got != wanted) {
		fprintf(stderr, "cuda_truth: %s: %d, expected %d\n", what, got, wanted);
		abort();
	}
}

#define CUDA_DO(truth, bytes, function, ...) \
	cuda_need(CUDA_CALL(truth, bytes, function, __VA_ARGS__), SIM_SUCCESS, #function)

static inline void cuda_allocate_host(struct cuda_truth *truth, struct cuda_block *block,
				      size_t size)
{
	if (block->way == CUDA_BY_MALLOC_HOST) {
		CUDA_DO(truth, 0, cudaMallocHost, &block->pointer, size);
	} else if (block->way == CUDA_BY_HOST_ALLOC) {
		CUDA_DO(truth, 0, cudaHostAlloc, &block->pointer, size, 1);
	} else {
		block->pointer = malloc(size);
		CUDA_DO(truth, 0, cudaHostRegister, block->pointer, size, 0);
	}
}

#ifndef SIM_STATIC
static inline void cuda_allocate_driver(struct cuda_truth *truth, struct cuda_block *block,
					int device, size_t size)
{
	/* The thread's current device is another one. */
	struct sim_memory_properties properties = {.type = 1, .location_type = 1};

	if (block->way == CUDA_BY_DRIVER) {
		CUDA_DO(truth, 0, cuMemAlloc_v2, (CUdeviceptr *)&block->pointer, size);
		return;
	}
	properties.location_id = 1 - device;
	block->memory = (enum cuda_memory)(CUDA_DEVICE + 1 - device);
	CUDA_DO(truth, 0, cuMemCreate, (uint64_t *)&block->pointer, size, &properties, 0);
}
#endif

/* DEVICE is the thread's; STREAM is the other device's. */
static inline void cuda_allocate(struct cuda_truth *truth, struct cuda_block *block,
				 enum cuda_way way, int device, CUstream stream, size_t size)
{
	struct cudaPitchedPtr pitched;
	size_t pitch = 0;

	*block = (struct cuda_block){.size = size, .way = way, .owner = truth};
	block->memory = (enum cuda_memory)(CUDA_DEVICE + device);
	switch (way) {
	case CUDA_BY_MALLOC:
		CUDA_DO(truth, 0, cudaMalloc, &block->pointer, size);
		break;
	case CUDA_BY_PITCH:
		CUDA_DO(truth, 0, cudaMallocPitch, &block->pointer, &pitch, size, 3);
		block->size = pitch * 3;
		break;
	case CUDA_BY_EXTENT:
		CUDA_DO(truth, 0, cudaMalloc3D, &pitched, (struct cudaExtent){size, 3, 2});
		CUDA_DO(truth, size * 6, cudaMemset3D, pitched, 1, (struct cudaExtent){size, 3, 2});
		block->pointer = pitched.ptr;
		block->size = pitched.pitch * 6;
		break;
	case CUDA_BY_STREAM:
		CUDA_DO(truth, 0, cudaMallocAsync, &block->pointer, size, stream);
		block->memory = (enum cuda_memory)(CUDA_DEVICE + 1 - device);
		break;
	case CUDA_BY_STREAM_PER_THREAD:
		CUDA_DO(truth, 0, cudaMallocAsync_ptsz, &block->pointer, size, NULL);
		break;
	case CUDA_BY_MANAGED:
		CUDA_DO(truth, 0, cudaMallocManaged, &block->pointer, size, 1);
		block->memory = (enum cuda_memory)(CUDA_MANAGED + device);
		break;
	case CUDA_BY_MALLOC_HOST:
	case CUDA_BY_HOST_ALLOC:
	case CUDA_BY_REGISTER:
		block->memory = CUDA_PINNED;
		cuda_allocate_host(truth, block, size);
		break;
	default:
#ifndef SIM_STATIC
		cuda_allocate_driver(truth, block, device, size);
#endif
		break;
	}
	atomic_fetch_add(&truth->memory[block->memory].allocs, 1);
	atomic_fetch_add(&truth->memory[block->memory].live_bytes, (long long)block->size);
}

static inline void cuda_release(struct cuda_truth *truth, struct cuda_block *block, CUstream stream)
{
	switch (block->way) {
	case CUDA_BY_STREAM:
	case CUDA_BY_STREAM_PER_THREAD:
		CUDA_DO(truth, 0, cudaFreeAsync, block->pointer, stream);
		break;
	case CUDA_BY_MALLOC_HOST:
	case CUDA_BY_HOST_ALLOC:
		CUDA_DO(truth, 0, cudaFreeHost, block->pointer);
		break;
	case CUDA_BY_REGISTER:
		CUDA_DO(truth, 0, cudaHostUnregister, block->pointer);
		free(block->pointer);
		break;
#ifndef SIM_STATIC
	case CUDA_BY_DRIVER:
		CUDA_DO(truth, 0, cuMemFree_v2, (CUdeviceptr)block->pointer);
		break;
	case CUDA_BY_CREATE:
		CUDA_DO(truth, 0, cuMemRelease, (uint64_t)block->pointer);
		break;
#endif
	default:
		CUDA_DO(truth, 0, cudaFree, block->pointer);
		break;
	}
	atomic_fetch_add(&block->owner->memory[block->memory].frees, 1);
	atomic_fetch_sub(&block->owner->memory[block->memory].live_bytes, (long long)block->size);
}

static inline void cuda_copy(struct cuda_truth *truth, CUstream stream)
{
	char host[600], *device = NULL;
	struct cuda_block block;

	cuda_allocate(truth, &block, CUDA_BY_MANAGED, 0, stream, sizeof(host));
	device = block.pointer;
	for (size_t i = 0; i < sizeof(host); i++) {
		host[i] = (char)i;
	}
	CUDA_DO(truth, sizeof(host), cudaMemcpy, device, host, sizeof(host), 1);
	CUDA_DO(truth, 100, cudaMemcpy_ptds, device + 100, device, 100, 3);
	CUDA_DO(truth, 50, cudaMemcpyAsync, device + 300, device, 50, 3, stream);
	cuda_need(CUDA_CALL(truth, 0, cudaStreamQuery, stream), SIM_NOT_READY,
		  "cudaStreamQuery at work");
	CUDA_DO(truth, 0, cudaStreamQuery, stream);
	CUDA_DO(truth, 30, cudaMemcpy2D, host, 20, device, 10, 10, 3, 2);
	cuda_need(host[20], 10, "cudaMemcpy2D");
	CUDA_DO(truth, 40, cudaMemset, device, 9, 40);
	CUDA_DO(truth, 0, cudaDeviceSynchronize);
	cuda_need(device[39], 9, "cudaMemset");
#ifndef SIM_STATIC
	CUDA_DO(truth, 70, cuMemcpyHtoD_v2, (CUdeviceptr)device, host, 70);
#endif
	cuda_release(truth, &block, stream);
}

static inline void cuda_launch(struct cuda_truth *truth, CUstream stream)
{
	const struct dim3 grid = {1, 2, 3}, block = {4, 5, 6};
	const struct sim_launch_config config = {
	    .grid = {1, 2, 3}, .block = {4, 5, 6}, .shared_of_runtime = 77, .stream = stream};
	const void *kernel = (const void *)(uintptr_t)cuda_kernel;
	unsigned long sums[5] = {CUDA_KERNEL_SUM, 0, 0, 0, CUDA_KERNEL_SUM}, *sum = sums;
	int number = 42;
	void *arguments[] = {&sum, &number};

	CUDA_DO(truth, 0, cudaLaunchKernel, kernel, grid, block, arguments, 77, stream);
	sum = &sums[1];
	CUDA_DO(truth, 0, __cudaLaunchKernel, kernel, grid, block, arguments, 77, stream);
	sum = &sums[2];
	CUDA_DO(truth, 0, __cudaLaunchKernel_ptsz, kernel, grid, block, arguments, 77, stream);
	sum = &sums[3];
	CUDA_DO(truth, 0, cudaLaunchKernelExC, &config, kernel, arguments);
#ifndef SIM_STATIC
	sum = &sums[4];
	CUDA_DO(truth, 0, cuLaunchKernel, cuda_kernel, 1, 2, 3, 4, 5, 6, 77, stream, arguments,
		NULL);
#endif
	for (int i = 0; i < 5; i++) {
		cuda_need(sums[i] == CUDA_KERNEL_SUM, 1, "arguments of a launch");
	}
	CUDA_DO(truth, 0, cudaStreamSynchronize, stream);
}

static inline void cuda_use(struct cuda_truth *truth, CUstream stream)
{
	CUevent event;

	CUDA_DO(truth, 0, cudaEventCreate, &event);
	cuda_copy(truth, stream);
	cuda_launch(truth, stream);
	CUDA_DO(truth, 0, cudaEventRecord, event, stream);
	CUDA_DO(truth, 0, cudaEventSynchronize, event);
	CUDA_DO(truth, 0, cudaEventDestroy, event);
}

#endif
