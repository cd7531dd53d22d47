/* What the simulated libamdhip64 and librccl declare: names, values and types of HIP's and RCCL's
 * that the test program uses. */
#ifndef HK_WORKLOADS_HIP_H
#define HK_WORKLOADS_HIP_H

#include "device.h"

enum {
	hipSuccess = 0,
	hipErrorInvalidValue = 1,
	hipErrorOutOfMemory = 2,
	hipErrorInvalidDevice = 101,
	hipErrorInvalidHandle = 400,
	hipErrorNotFound = 500,
	hipErrorNotReady = 600
};
enum { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2, hipMemcpyDeviceToDevice = 3 };

typedef struct sim_stream *hipStream_t;
typedef struct sim_event *hipEvent_t;
typedef struct sim_function *hipFunction_t;
typedef struct sim_module *hipModule_t;
struct dim3 {
	uint32_t x, y, z;
};

/* Not HIP's: what hipModuleLoadData takes for a code object. */
struct sim_module {
	const char *name;
	sim_kernel *kernel;
};

#pragma GCC visibility push(default)

int hipGetDeviceCount(int *count);
int hipSetDevice(int device);
int hipGetDevice(int *device);
int hipDeviceSynchronize(void);
int hipGetLastError(void);
int hipMalloc(void **pointer, size_t size);
int hipMallocAsync(void **pointer, size_t size, hipStream_t stream);
int hipMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height);
int hipMallocManaged(void **pointer, size_t size, unsigned flags);
int hipHostMalloc(void **pointer, size_t size, unsigned flags);
int hipHostRegister(void *pointer, size_t size, unsigned flags);
int hipHostUnregister(void *pointer);
int hipFree(void *pointer);
int hipFreeAsync(void *pointer, hipStream_t stream);
int hipHostFree(void *pointer);
int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, hipStream_t stream);
int hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
		size_t height, int kind);
int hipMemcpyHtoDAsync(void *to, void *from, size_t bytes, hipStream_t stream);
int hipMemset(void *to, int value, size_t bytes);
int hipMemsetD32Async(void *to, int value, size_t count, hipStream_t stream);
int hipLaunchKernel(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments,
		    size_t shared, hipStream_t stream);
int hipLaunchKernel_spt(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments,
			size_t shared, hipStream_t stream);
int hipModuleLoadData(hipModule_t *module, const void *image);
int hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name);
int hipModuleUnload(hipModule_t module);
int hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
			  hipStream_t stream, void **arguments, void **extra);
int hipStreamCreate(hipStream_t *stream);
int hipStreamDestroy(hipStream_t stream);
int hipStreamSynchronize(hipStream_t stream);
int hipStreamQuery(hipStream_t stream);
int hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags);
int hipGetStreamDeviceId(hipStream_t stream);
int hipEventCreate(hipEvent_t *event);
int hipEventDestroy(hipEvent_t event);
int hipEventRecord(hipEvent_t event, hipStream_t stream);
int hipEventQuery(hipEvent_t event);
int hipEventSynchronize(hipEvent_t event);

/* ---- RCCL: librccl.so.1 */

enum { ncclSuccess = 0, ncclInvalidArgument = 4 };
enum {
	ncclInt8 = 0,
	ncclInt32 = 2,
	ncclFloat16 = 6,
	ncclFloat = 7,
	ncclDouble = 8,
	ncclBfloat16 = 9
};

typedef struct sim_comm *ncclComm_t;
typedef struct {
	char internal[128];
} ncclUniqueId;

int ncclGetUniqueId(ncclUniqueId *id);
int ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank);
int ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child, void *config);
int ncclCommDestroy(ncclComm_t comm);
int ncclCommCount(ncclComm_t comm, int *ranks);
int ncclCommUserRank(ncclComm_t comm, int *rank);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, ncclComm_t comm,
		  hipStream_t stream);
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, ncclComm_t comm,
		  hipStream_t stream);
int ncclAllGather(const void *from, void *to, size_t count, int type, ncclComm_t comm,
		  hipStream_t stream);
int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, ncclComm_t comm,
		      hipStream_t stream);
int ncclAllToAll(const void *from, void *to, size_t count, int type, ncclComm_t comm,
		 hipStream_t stream);
int ncclAllToAllv(const void *from, const size_t counts[], const size_t places[], void *to,
		  const size_t to_counts[], const size_t to_places[], int type, ncclComm_t comm,
		  hipStream_t stream);
int ncclSend(const void *from, size_t count, int type, int peer, ncclComm_t comm,
	     hipStream_t stream);
int ncclRecv(void *to, size_t count, int type, int peer, ncclComm_t comm, hipStream_t stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclMemAlloc(void **pointer, size_t size);
int ncclMemFree(void *pointer);

#pragma GCC visibility pop

#endif
