/* What nvcc makes of kernels, by hand: a stub of the host that launches each, and a constructor
 * that registers them. The layout is the same in each program that includes this, so that a library
 * can take the place of another one. */
#ifndef HK_WORKLOADS_KERNELS_TRUTH_H
#define HK_WORKLOADS_KERNELS_TRUTH_H

#include "simcuda.h"

void **__cudaRegisterFatBinary(const void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *function, char *device_function,
			    const char *name, int threads, void *tid, void *bid, void *block,
			    void *grid, int *warp);
int __cudaGetKernel(struct sim_function **kernel, const void *function);
int cudaLaunchKernel_ptsz(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments,
			  size_t shared, CUstream stream);
int cudaGetLastError(void);
int cudaStreamBeginCapture(CUstream stream, int mode);
int cudaStreamEndCapture(CUstream stream, struct sim_graph **graph);
int cudaGraphInstantiate(struct sim_graph **exec, struct sim_graph *graph, uint64_t flags);
int cudaGraphLaunch(struct sim_graph *exec, CUstream stream);
int cudaMallocFromPoolAsync(void **pointer, size_t size, struct sim_pool *pool, CUstream stream);
int cudaDeviceGetDefaultMemPool(struct sim_pool **pool, int device);

/* The stub of one kernel. As nvcc's code it asks for the kernel's handle once. `mark` keeps stubs
 * of equal code apart. */
#define KERNEL_STUB(stub, mark)                                                                \
	__attribute__((noinline)) int stub(struct dim3 grid, struct dim3 block, size_t shared, \
					   CUstream stream)                                    \
	{                                                                                      \
		static struct sim_function *kernel;                                            \
		static int result = -(mark);                                                   \
		if (result < 0) {                                                              \
			result = __cudaGetKernel(&kernel, (const void *)(uintptr_t)stub);      \
		}                                                                              \
		return result ? result                                                         \
			      : __cudaLaunchKernel(kernel, grid, block, NULL, shared, stream); \
	}

static inline void register_kernel(void **handle,
				   int (*stub)(struct dim3, struct dim3, size_t, CUstream),
				   const char *name)
{
	__cudaRegisterFunction(handle, (const char *)(uintptr_t)stub, (char *)(uintptr_t)name, name,
			       -1, NULL, NULL, NULL, NULL, NULL);
}

#endif
