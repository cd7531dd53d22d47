/*
 * What the simulated CUDA and NCCL libraries declare: the functions, values and types that their
 * test programs use, with the real names, numbers and calling conventions. No GPU is involved:
 * "device" memory is the host's, kernels are host functions.
 */
#ifndef HK_WORKLOADS_SIMCUDA_H
#define HK_WORKLOADS_SIMCUDA_H

#include <stddef.h>
#include <stdint.h>

#define SIM_DEVICES 2
#define SIM_DEVICE_BYTES ((size_t)64 << 20) /* an allocation beyond it fails */

enum {
	SIM_SUCCESS = 0,
	SIM_INVALID_VALUE = 1,
	SIM_OUT_OF_MEMORY = 2,
	SIM_INVALID_DEVICE_FUNCTION = 98,
	SIM_INVALID_DEVICE = 101,
	SIM_INVALID_HANDLE = 400,
	SIM_NOT_FOUND = 500,
	SIM_NOT_READY = 600
};

typedef struct sim_context *CUcontext;
typedef struct sim_stream *CUstream;
typedef struct sim_event *CUevent;
typedef uint64_t CUdeviceptr;
typedef void sim_kernel(void **arguments,
			const unsigned *shape); /* grid x y z, block x y z, shared */

struct dim3 {
	unsigned x, y, z;
};
struct cudaExtent {
	size_t width, height, depth;
};
struct cudaPitchedPtr {
	void *ptr;
	size_t pitch, xsize, ysize;
};

/* The head of CUmemAllocationProp: where the memory is to lie. */
struct sim_memory_properties {
	int type, handle_types;
	int location_type, location_id;
	uint64_t rest[8];
};

/* Both cudaLaunchConfig_t and CUlaunchConfig. */
struct sim_launch_config {
	unsigned grid[3], block[3];
	union {
		size_t shared_of_runtime; /* 8 bytes */
		unsigned shared_of_driver;
	};
	CUstream stream;
	void *attributes;
	unsigned attribute_count;
};

/* ---- driver: libcuda.so.1 */

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(CUcontext *context, int device);
int cuCtxSetCurrent(CUcontext context);
int cuCtxGetCurrent(CUcontext *context);
int cuCtxGetDevice(int *device);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(CUdeviceptr *pointer, size_t size);
int cuMemAllocPitch_v2(CUdeviceptr *pointer, size_t *pitch, size_t width, size_t height,
		       unsigned element);
int cuMemAllocAsync(CUdeviceptr *pointer, size_t size, CUstream stream);
int cuMemAllocAsync_ptsz(CUdeviceptr *pointer, size_t size, CUstream stream);
int cuMemAllocManaged(CUdeviceptr *pointer, size_t size, unsigned flags);
int cuMemHostAlloc(void **pointer, size_t size, unsigned flags);
int cuMemHostRegister_v2(void *pointer, size_t size, unsigned flags);
int cuMemHostUnregister(void *pointer);
int cuMemFree_v2(CUdeviceptr pointer);
int cuMemFreeAsync(CUdeviceptr pointer, CUstream stream);
int cuMemFreeAsync_ptsz(CUdeviceptr pointer, CUstream stream);
int cuMemFreeHost(void *pointer);
int cuMemCreate(uint64_t *handle, size_t size, const struct sim_memory_properties *properties,
		uint64_t flags);
int cuMemRelease(uint64_t handle);
int cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
int cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
int cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
int cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes);
int cuLaunchKernel(sim_kernel *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
		   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
		   CUstream stream, void **arguments, void **extra);
int cuLaunchKernel_ptsz(sim_kernel *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
			CUstream stream, void **arguments, void **extra);
int cuLaunchKernelEx(const struct sim_launch_config *config, sim_kernel *kernel, void **arguments,
		     void **extra);
int cuStreamCreate(CUstream *stream, unsigned flags);
int cuStreamDestroy_v2(CUstream stream);
int cuStreamSynchronize(CUstream stream);
int cuStreamQuery(CUstream stream);
int cuStreamGetDevice(CUstream stream, int *device);
int cuEventCreate(CUevent *event, unsigned flags);
int cuEventDestroy_v2(CUevent event);
int cuEventRecord(CUevent event, CUstream stream);
int cuEventQuery(CUevent event);
int cuEventSynchronize(CUevent event);
int cuEventElapsedTime(float *ms, CUevent from, CUevent to);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
int cuDeviceGet(int *device, int number);
int cuDeviceGetCount(int *count);
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
			int *status);

struct sim_module;   /* CUmodule, CUlibrary */
struct sim_function; /* CUfunction, CUkernel */
struct sim_graph;    /* CUgraph, CUgraphExec */
struct sim_pool;

int cuModuleLoad(struct sim_module **module, const char *file);
int cuModuleLoadData(struct sim_module **module, const void *image);
int cuModuleLoadDataEx(struct sim_module **module, const void *image, unsigned count, void *options,
		       void **values);
int cuModuleUnload(struct sim_module *module);
int cuModuleGetFunction(struct sim_function **function, struct sim_module *module,
			const char *name);
int cuLibraryLoadData(struct sim_module **library, const void *code, void *options, void **values,
		      unsigned count, void *library_options, void **library_values,
		      unsigned library_count);
int cuLibraryUnload(struct sim_module *library);
int cuLibraryGetKernel(struct sim_function **kernel, struct sim_module *library, const char *name);
int cuKernelGetFunction(struct sim_function **function, struct sim_function *kernel);
int cuFuncGetName(const char **name, struct sim_function *function);
int cuKernelGetName(const char **name, struct sim_function *kernel);
int cuStreamBeginCapture_v2(CUstream stream, int mode);
int cuStreamEndCapture(CUstream stream, struct sim_graph **graph);
int cuStreamIsCapturing(CUstream stream, int *status);
int cuGraphCreate(struct sim_graph **graph, unsigned flags);
int cuGraphDestroy(struct sim_graph *graph);
int cuGraphInstantiateWithFlags(struct sim_graph **exec, const struct sim_graph *graph,
				uint64_t flags);
int cuGraphExecDestroy(struct sim_graph *exec);
int cuGraphLaunch(const struct sim_graph *exec, CUstream stream);
int cuDeviceGetDefaultMemPool(struct sim_pool **pool, int device);
int cuMemPoolCreate(struct sim_pool **pool, const struct sim_memory_properties *properties);
int cuMemPoolDestroy(struct sim_pool *pool);
int cuMemPoolTrimTo(struct sim_pool *pool, size_t bytes);
int cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t size, struct sim_pool *pool,
			    CUstream stream);
int cuMemGetAllocationGranularity(size_t *granularity,
				  const struct sim_memory_properties *properties, int option);
int cuMemAddressReserve(CUdeviceptr *pointer, size_t size, size_t alignment, CUdeviceptr address,
			uint64_t flags);
int cuMemAddressFree(CUdeviceptr pointer, size_t size);
int cuMemMap(CUdeviceptr pointer, size_t size, size_t offset, uint64_t handle, uint64_t flags);
int cuMemUnmap(CUdeviceptr pointer, size_t size);
int cuMemSetAccess(CUdeviceptr pointer, size_t size, const void *access, size_t count);

/* Not CUDA: sets *device to the device of the memory at POINTER, -1: the host's; unchanged if it is
 * not known. */
void sim_block_device(CUdeviceptr pointer, int *device);

/* Not CUDA: number of calls of each function, from all callers. One JSON object. */
void sim_driver_counts(int fd);

/* ---- runtime: libcudart.so.13 */

int cudaSetDevice(int device);
int cudaGetDevice(int *device);
int cudaGetDeviceCount(int *count);
int cudaDeviceSynchronize(void);
int cudaMalloc(void **pointer, size_t size);
int cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height);
int cudaMalloc3D(struct cudaPitchedPtr *pointer, struct cudaExtent extent);
int cudaMallocAsync(void **pointer, size_t size, CUstream stream);
int cudaMallocAsync_ptsz(void **pointer, size_t size, CUstream stream);
int cudaMallocManaged(void **pointer, size_t size, unsigned flags);
int cudaMallocHost(void **pointer, size_t size);
int cudaHostAlloc(void **pointer, size_t size, unsigned flags);
int cudaHostRegister(void *pointer, size_t size, unsigned flags);
int cudaHostUnregister(void *pointer);
int cudaFree(void *pointer);
int cudaFreeAsync(void *pointer, CUstream stream);
int cudaFreeAsync_ptsz(void *pointer, CUstream stream);
int cudaFreeHost(void *pointer);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpy_ptds(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, CUstream stream);
int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
		 size_t height, int kind);
int cudaMemset(void *to, int value, size_t bytes);
int cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent);
int cudaLaunchKernel(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments,
		     size_t shared, CUstream stream);
int __cudaLaunchKernel(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments,
		       size_t shared, CUstream stream);
int __cudaLaunchKernel_ptsz(const void *kernel, struct dim3 grid, struct dim3 block,
			    void **arguments, size_t shared, CUstream stream);
int cudaLaunchKernelExC(const struct sim_launch_config *config, const void *kernel,
			void **arguments);
int cudaStreamCreate(CUstream *stream);
int cudaStreamDestroy(CUstream stream);
int cudaStreamSynchronize(CUstream stream);
int cudaStreamQuery(CUstream stream);
int cudaEventCreate(CUevent *event);
int cudaEventDestroy(CUevent event);
int cudaEventRecord(CUevent event, CUstream stream);
int cudaEventSynchronize(CUevent event);

/* ---- NCCL: libnccl.so.2 */

enum { SIM_NCCL_SUCCESS = 0, SIM_NCCL_INVALID_ARGUMENT = 4, SIM_NCCL_IN_PROGRESS = 7 };
enum {
	ncclInt8 = 0,
	ncclInt32 = 2,
	ncclInt64 = 4,
	ncclFloat16 = 6,
	ncclFloat = 7,
	ncclDouble = 8,
	ncclBfloat16 = 9,
	ncclFloat8e5m2 = 11
};

typedef struct sim_comm *ncclComm_t;
typedef struct {
	char internal[128];
} ncclUniqueId;
struct sim_nccl_config {
	size_t size;
	unsigned magic, version;
	int blocking;
};

int ncclGetUniqueId(ncclUniqueId *id);
int ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank);
int ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
			   struct sim_nccl_config *config);
int ncclCommInitAll(ncclComm_t *comms, int count, const int *devices);
int ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child,
		  struct sim_nccl_config *config);
int ncclCommDestroy(ncclComm_t comm);
int ncclCommAbort(ncclComm_t comm);
int ncclCommCount(ncclComm_t comm, int *ranks);
int ncclCommUserRank(ncclComm_t comm, int *rank);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, ncclComm_t comm,
		  CUstream stream);
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, ncclComm_t comm,
		  CUstream stream);
int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root,
	       ncclComm_t comm, CUstream stream);
int ncclAllGather(const void *from, void *to, size_t count, int type, ncclComm_t comm,
		  CUstream stream);
int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, ncclComm_t comm,
		      CUstream stream);
int ncclSend(const void *from, size_t count, int type, int peer, ncclComm_t comm, CUstream stream);
int ncclRecv(void *to, size_t count, int type, int peer, ncclComm_t comm, CUstream stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclMemAlloc(void **pointer, size_t size);
int ncclMemFree(void *pointer);

#endif
