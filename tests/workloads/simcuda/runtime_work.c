/* Copies, streams, events, graphs, pools and libraries of the simulated runtime beyond those of
 * runtime.c. */
#include <string.h>

#include "runtime.h"

static struct {
	__typeof__(&cuStreamCreate) stream_create;
	__typeof__(&cuStreamDestroy_v2) stream_destroy;
	__typeof__(&cuStreamSynchronize) stream_synchronize;
	__typeof__(&cuEventCreate) event_create;
	__typeof__(&cuEventQuery) event_query;
	__typeof__(&cuEventElapsedTime) event_elapsed;
	__typeof__(&cuMemcpyAsync) copy_async;
	__typeof__(&cuMemsetD8_v2) set;
	__typeof__(&cuMemGetInfo_v2) memory_info;
	__typeof__(&cuStreamBeginCapture_v2) begin_capture;
	__typeof__(&cuStreamEndCapture) end_capture;
	__typeof__(&cuStreamIsCapturing) is_capturing;
	__typeof__(&cuGraphCreate) graph_create;
	__typeof__(&cuGraphDestroy) graph_destroy;
	__typeof__(&cuGraphInstantiateWithFlags) instantiate;
	__typeof__(&cuGraphExecDestroy) exec_destroy;
	__typeof__(&cuGraphLaunch) graph_launch;
	__typeof__(&cuDeviceGetDefaultMemPool) default_pool;
	__typeof__(&cuMemPoolCreate) pool_create;
	__typeof__(&cuMemPoolDestroy) pool_destroy;
	__typeof__(&cuMemPoolTrimTo) pool_trim;
	__typeof__(&cuMemAllocFromPoolAsync) alloc_from_pool;
	__typeof__(&cuLibraryLoadData) library_load;
	__typeof__(&cuLibraryUnload) library_unload;
	__typeof__(&cuLibraryGetKernel) library_get;
	__typeof__(&sim_block_device) block_device;
} driver;

/* Calls the driver's function of this base name. */
#define CALL(base, member, ...) \
	(sim_enter(), SIM_FIND(base, driver.member), sim_done(driver.member(__VA_ARGS__)))

/* ---- copies */

int cudaMemsetAsync(void *to, int value, size_t bytes, CUstream stream)
{
	(void)stream;
	return CALL("cuMemsetD8", set, (CUdeviceptr)to, (unsigned char)value, bytes);
}

int cudaMemcpyAsync_ptsz(void *to, const void *from, size_t bytes, int kind, CUstream stream)
{
	return cudaMemcpyAsync(to, from, bytes, kind, stream);
}

int cudaMemset_ptds(void *to, int value, size_t bytes)
{
	return cudaMemset(to, value, bytes);
}

int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
		      size_t height, int kind, CUstream stream)
{
	(void)stream;
	return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
			CUstream stream)
{
	(void)to_device;
	(void)from_device;
	return CALL("cuMemcpyAsync", copy_async, (CUdeviceptr)to, (CUdeviceptr)from, bytes, stream);
}

/* A symbol of the device is where the program's variable is. */
int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind)
{
	return cudaMemcpy((char *)(uintptr_t)symbol + offset, from, bytes, kind);
}

int cudaGetSymbolAddress(void **address, const void *symbol)
{
	*address = (void *)(uintptr_t)symbol;
	return SIM_SUCCESS;
}

int cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
	return CALL("cuMemGetInfo", memory_info, free_bytes, total);
}

/* The head of cudaPointerAttributes. */
struct pointer_attributes {
	int type, device;
	void *of_device, *of_host;
};

int cudaPointerGetAttributes(struct pointer_attributes *attributes, const void *pointer)
{
	int device = -2;

	sim_enter();
	SIM_FIND("sim_block_device", driver.block_device);
	driver.block_device((CUdeviceptr)pointer, &device);
	*attributes = (struct pointer_attributes){
	    .type = device == -2   ? 0
		    : device == -1 ? 1
				   : 2,
	    .device = device < 0 ? 0 : device,
	    .of_device = device == -2 ? NULL : (void *)(uintptr_t)pointer,
	    .of_host = device >= 0 ? NULL : (void *)(uintptr_t)pointer,
	};
	return SIM_SUCCESS;
}

int cudaMemPrefetchAsync(const void *pointer, size_t bytes, uint64_t location, unsigned flags,
			 CUstream stream)
{
	(void)bytes;
	(void)location;
	(void)flags;
	(void)stream;
	return sim_done(pointer ? SIM_SUCCESS : SIM_INVALID_VALUE);
}

/* ---- launches */

int cudaLaunchKernel_ptsz(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments,
			  size_t shared, CUstream stream)
{
	return __cudaLaunchKernel_ptsz(kernel, grid, block, arguments, shared, stream);
}

int cudaLaunchCooperativeKernel(const void *kernel, struct dim3 grid, struct dim3 block,
				void **arguments, size_t shared, CUstream stream)
{
	return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

int cudaLaunchHostFunc(CUstream stream, void (*function)(void *), void *data)
{
	(void)stream;
	function(data);
	return SIM_SUCCESS;
}

int cudaStreamAddCallback(CUstream stream, void (*function)(CUstream, int, void *), void *data,
			  unsigned flags)
{
	function(stream, SIM_SUCCESS, data);
	return sim_done(flags ? SIM_INVALID_VALUE : SIM_SUCCESS);
}

/* ---- streams, events */

int cudaStreamCreateWithFlags(CUstream *stream, unsigned flags)
{
	return CALL("cuStreamCreate", stream_create, stream, flags);
}

int cudaStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	(void)priority;
	return cudaStreamCreateWithFlags(stream, flags);
}

int cudaStreamGetPriority(CUstream stream, int *priority)
{
	(void)stream;
	*priority = 0;
	return SIM_SUCCESS;
}

int cudaStreamSynchronize_ptsz(CUstream stream)
{
	return CALL("cuStreamSynchronize", stream_synchronize, stream);
}

int cudaStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	(void)stream;
	(void)flags;
	return sim_done(event ? SIM_SUCCESS : SIM_INVALID_HANDLE);
}

int cudaEventCreateWithFlags(CUevent *event, unsigned flags)
{
	return CALL("cuEventCreate", event_create, event, flags);
}

int cudaEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
	(void)flags;
	return cudaEventRecord(event, stream);
}

int cudaEventQuery(CUevent event)
{
	return CALL("cuEventQuery", event_query, event);
}

int cudaEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	return CALL("cuEventElapsedTime", event_elapsed, ms, from, to);
}

/* ---- graphs */

int cudaStreamBeginCapture(CUstream stream, int mode)
{
	return CALL("cuStreamBeginCapture", begin_capture, stream, mode);
}

int cudaStreamEndCapture(CUstream stream, struct sim_graph **graph)
{
	return CALL("cuStreamEndCapture", end_capture, stream, graph);
}

int cudaStreamIsCapturing(CUstream stream, int *status)
{
	return CALL("cuStreamIsCapturing", is_capturing, stream, status);
}

int cudaStreamGetCaptureInfo(CUstream stream, int *status, uint64_t *id, struct sim_graph **graph,
			     const void **dependencies, const void **edges, size_t *count)
{
	if (id) {
		*id = (uint64_t)stream;
	}
	if (graph) {
		*graph = NULL;
	}
	if (dependencies) {
		*dependencies = NULL;
	}
	if (edges) {
		*edges = NULL;
	}
	if (count) {
		*count = 0;
	}
	return cudaStreamIsCapturing(stream, status);
}

int cudaGraphInstantiate(struct sim_graph **exec, struct sim_graph *graph, uint64_t flags)
{
	return CALL("cuGraphInstantiateWithFlags", instantiate, exec, graph, flags);
}

int cudaGraphInstantiateWithFlags(struct sim_graph **exec, struct sim_graph *graph, uint64_t flags)
{
	return cudaGraphInstantiate(exec, graph, flags);
}

int cudaGraphLaunch(struct sim_graph *exec, CUstream stream)
{
	return CALL("cuGraphLaunch", graph_launch, exec, stream);
}

int cudaGraphCreate(struct sim_graph **graph, unsigned flags)
{
	return CALL("cuGraphCreate", graph_create, graph, flags);
}

int cudaGraphDestroy(struct sim_graph *graph)
{
	return CALL("cuGraphDestroy", graph_destroy, graph);
}

int cudaGraphExecDestroy(struct sim_graph *exec)
{
	return CALL("cuGraphExecDestroy", exec_destroy, exec);
}

int cudaGraphGetNodes(struct sim_graph *graph, void *nodes, size_t *count)
{
	(void)nodes;
	*count = 0;
	return sim_done(graph ? SIM_SUCCESS : SIM_INVALID_VALUE);
}

/* ---- pools */

int cudaDeviceGetDefaultMemPool(struct sim_pool **pool, int device)
{
	return CALL("cuDeviceGetDefaultMemPool", default_pool, pool, device);
}

int cudaMemPoolCreate(struct sim_pool **pool, const struct sim_memory_properties *properties)
{
	return CALL("cuMemPoolCreate", pool_create, pool, properties);
}

int cudaMemPoolDestroy(struct sim_pool *pool)
{
	return CALL("cuMemPoolDestroy", pool_destroy, pool);
}

int cudaMemPoolTrimTo(struct sim_pool *pool, size_t bytes)
{
	return CALL("cuMemPoolTrimTo", pool_trim, pool, bytes);
}

int cudaMemPoolGetAttribute(struct sim_pool *pool, int attribute, uint64_t *value)
{
	(void)attribute;
	*value = 0;
	return sim_done(pool ? SIM_SUCCESS : SIM_INVALID_VALUE);
}

int cudaDeviceGetGraphMemAttribute(int device, int attribute, uint64_t *value)
{
	(void)device;
	(void)attribute;
	*value = 0;
	return SIM_SUCCESS;
}

int cudaMallocFromPoolAsync(void **pointer, size_t size, struct sim_pool *pool, CUstream stream)
{
	return CALL("cuMemAllocFromPoolAsync", alloc_from_pool, (CUdeviceptr *)pointer, size, pool,
		    stream);
}

/* ---- libraries */

int cudaLibraryLoadData(struct sim_module **library, const void *code, void *options, void **values,
			unsigned count, void *library_options, void **library_values,
			unsigned library_count)
{
	return CALL("cuLibraryLoadData", library_load, library, code, options, values, count,
		    library_options, library_values, library_count);
}

int cudaLibraryLoadFromFile(struct sim_module **library, const char *file, void *options,
			    void **values, unsigned count, void *library_options,
			    void **library_values, unsigned library_count)
{
	return cudaLibraryLoadData(library, file, options, values, count, library_options,
				   library_values, library_count);
}

int cudaLibraryGetKernel(struct sim_function **kernel, struct sim_module *library, const char *name)
{
	return CALL("cuLibraryGetKernel", library_get, kernel, library, name);
}

int cudaLibraryUnload(struct sim_module *library)
{
	return CALL("cuLibraryUnload", library_unload, library);
}

/* ---- for a default stream per thread: all of them do their work at once */

#define SAME_AS(function) __attribute__((alias(#function)))
__typeof__(cudaMemcpyToSymbol) cudaMemcpyToSymbol_ptds SAME_AS(cudaMemcpyToSymbol);
__typeof__(cudaMemsetAsync) cudaMemsetAsync_ptsz SAME_AS(cudaMemsetAsync);
__typeof__(cudaStreamWaitEvent) cudaStreamWaitEvent_ptsz SAME_AS(cudaStreamWaitEvent);
__typeof__(cudaStreamBeginCapture) cudaStreamBeginCapture_ptsz SAME_AS(cudaStreamBeginCapture);
__typeof__(cudaStreamEndCapture) cudaStreamEndCapture_ptsz SAME_AS(cudaStreamEndCapture);
__typeof__(cudaGraphLaunch) cudaGraphLaunch_ptsz SAME_AS(cudaGraphLaunch);
__typeof__(cudaMallocFromPoolAsync) cudaMallocFromPoolAsync_ptsz SAME_AS(cudaMallocFromPoolAsync);
__typeof__(cudaLaunchHostFunc) cudaLaunchHostFunc_ptsz SAME_AS(cudaLaunchHostFunc);
