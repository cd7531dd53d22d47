/* What the files of the simulated driver share. */
#ifndef HK_WORKLOADS_SIMCUDA_DRIVER_H
#define HK_WORKLOADS_SIMCUDA_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "simcuda.h"

/* ---- counts */

#define COUNTED(function) COUNT_##function
enum count {
	COUNTED(cuInit),
	COUNTED(cuDevicePrimaryCtxRetain),
	COUNTED(cuCtxSetCurrent),
	COUNTED(cuCtxGetCurrent),
	COUNTED(cuCtxSynchronize),
	COUNTED(cuMemAlloc_v2),
	COUNTED(cuMemAllocPitch_v2),
	COUNTED(cuMemAllocAsync),
	COUNTED(cuMemAllocAsync_ptsz),
	COUNTED(cuMemAllocManaged),
	COUNTED(cuMemHostAlloc),
	COUNTED(cuMemHostRegister_v2),
	COUNTED(cuMemHostUnregister),
	COUNTED(cuMemFree_v2),
	COUNTED(cuMemFreeAsync),
	COUNTED(cuMemFreeAsync_ptsz),
	COUNTED(cuMemFreeHost),
	COUNTED(cuMemCreate),
	COUNTED(cuMemRelease),
	COUNTED(cuMemcpy),
	COUNTED(cuMemcpyHtoD_v2),
	COUNTED(cuMemcpyDtoH_v2),
	COUNTED(cuMemcpyAsync),
	COUNTED(cuMemcpyAsync_ptsz),
	COUNTED(cuMemsetD8_v2),
	COUNTED(cuLaunchKernel),
	COUNTED(cuLaunchKernel_ptsz),
	COUNTED(cuLaunchKernelEx),
	COUNTED(cuStreamCreate),
	COUNTED(cuStreamDestroy_v2),
	COUNTED(cuStreamSynchronize),
	COUNTED(cuStreamQuery),
	COUNTED(cuEventCreate),
	COUNTED(cuEventDestroy_v2),
	COUNTED(cuEventRecord),
	COUNTED(cuEventQuery),
	COUNTED(cuEventSynchronize),
	COUNTS
};

extern _Atomic unsigned long sim_counts[COUNTS];
#define ENTER(function) atomic_fetch_add(&sim_counts[COUNTED(function)], 1)

/* Runs the function with handle KERNEL. Returns false if there is none: KERNEL is a host function.
 */
bool sim_function_run(const void *kernel, void **arguments, const unsigned *shape);

/* Returns its name; "simulated kernel" for a host function. */
const char *sim_function_name(const void *kernel);

/* Adds a launch (KERNEL), or a copy, to the graph that is captured from STREAM. Returns false if
 * STREAM is not captured: the work is to be done now. */
bool sim_graph_capture(CUstream stream, const void *kernel, const unsigned shape[7]);

/* Allocates memory of DEVICE. */
int sim_allocate(CUdeviceptr *pointer, size_t size, int device);

/* Bytes of DEVICE in use. */
size_t sim_used(int device);

/* Does one launch or copy of a graph. */
int sim_graph_run(const void *kernel, const unsigned shape[7], CUstream stream);

#endif
