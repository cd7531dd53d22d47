/* A simulated CUDA runtime: libcudart.so.13, or linked statically into a program. As the real one
 * it reaches the driver by dlopen, dlsym and cuGetProcAddress alone. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime.h"

#define VERSION 13000
#define PER_THREAD 2 /* flag of cuGetProcAddress: default stream per thread */

static struct {
	__typeof__(&cuInit) init;
	__typeof__(&cuDevicePrimaryCtxRetain) retain;
	__typeof__(&cuCtxSetCurrent) set_current;
	__typeof__(&cuCtxGetCurrent) get_current;
	__typeof__(&cuCtxSynchronize) synchronize;
	__typeof__(&cuMemAlloc_v2) alloc;
	__typeof__(&cuMemAllocPitch_v2) alloc_pitch;
	__typeof__(&cuMemAllocAsync) alloc_async, alloc_async_per_thread;
	__typeof__(&cuMemAllocManaged) alloc_managed;
	__typeof__(&cuMemHostAlloc) host_alloc;
	__typeof__(&cuMemHostRegister_v2) host_register;
	__typeof__(&cuMemHostUnregister) host_unregister;
	__typeof__(&cuMemFree_v2) free;
	__typeof__(&cuMemFreeAsync) free_async, free_async_per_thread;
	__typeof__(&cuMemFreeHost) free_host;
	__typeof__(&cuMemcpy) copy;
	__typeof__(&cuMemcpyAsync) copy_async;
	__typeof__(&cuMemsetD8_v2) set;
	__typeof__(&cuLaunchKernel) launch, launch_per_thread;
	__typeof__(&cuLaunchKernelEx) launch_ex;
	__typeof__(&cuStreamCreate) stream_create;
	__typeof__(&cuStreamDestroy_v2) stream_destroy;
	__typeof__(&cuStreamSynchronize) stream_synchronize;
	__typeof__(&cuStreamQuery) stream_query;
	__typeof__(&cuEventCreate) event_create;
	__typeof__(&cuEventDestroy_v2) event_destroy;
	__typeof__(&cuEventRecord) event_record;
	__typeof__(&cuEventSynchronize) event_synchronize;
} driver;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CUcontext contexts[SIM_DEVICES];
static _Thread_local int current_device;

#define FIND(member, base, flags) find(base, (void **)&driver.member, flags)
static __typeof__(&cuGetProcAddress_v2) get_address;
static void (*tell)(void); /* sim_driver_runtime, for a simulated CUPTI */

static void find(const char *base, void **to, uint64_t flags)
{
	int status;

	if (get_address(base, to, VERSION, flags, &status) != SIM_SUCCESS) {
		fprintf(stderr, "simulated cudart: no %s in the driver\n", base);
		abort();
	}
}

static void open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	*(void **)&get_address = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
	if (!get_address) {
		fprintf(stderr, "simulated cudart: no driver: %s\n", dlerror());
		abort();
	}
	*(void **)&tell = dlsym(library, "sim_driver_runtime");
	/* The real one asks for this too and uses what it gets. */
	find("cuGetProcAddress", (void **)&get_address, 0);
}
static void find_driver(void)
{
	open_driver();
	FIND(init, "cuInit", 0);
	FIND(retain, "cuDevicePrimaryCtxRetain", 0);
	FIND(set_current, "cuCtxSetCurrent", 0);
	FIND(get_current, "cuCtxGetCurrent", 0);
	FIND(synchronize, "cuCtxSynchronize", 0);
	FIND(alloc, "cuMemAlloc", 0);
	FIND(alloc_pitch, "cuMemAllocPitch", 0);
	FIND(alloc_async, "cuMemAllocAsync", 0);
	FIND(alloc_async_per_thread, "cuMemAllocAsync", PER_THREAD);
	FIND(alloc_managed, "cuMemAllocManaged", 0);
	FIND(host_alloc, "cuMemHostAlloc", 0);
	FIND(host_register, "cuMemHostRegister", 0);
	FIND(host_unregister, "cuMemHostUnregister", 0);
	FIND(free, "cuMemFree", 0);
	FIND(free_async, "cuMemFreeAsync", 0);
	FIND(free_async_per_thread, "cuMemFreeAsync", PER_THREAD);
	FIND(free_host, "cuMemFreeHost", 0);
	FIND(copy, "cuMemcpy", 0);
	FIND(copy_async, "cuMemcpyAsync", 0);
	FIND(set, "cuMemsetD8", 0);
	FIND(launch, "cuLaunchKernel", 0);
	FIND(launch_per_thread, "cuLaunchKernel", PER_THREAD);
	FIND(launch_ex, "cuLaunchKernelEx", 0);
	FIND(stream_create, "cuStreamCreate", 0);
	FIND(stream_destroy, "cuStreamDestroy", 0);
	FIND(stream_synchronize, "cuStreamSynchronize", 0);
	FIND(stream_query, "cuStreamQuery", 0);
	FIND(event_create, "cuEventCreate", 0);
	FIND(event_destroy, "cuEventDestroy", 0);
	FIND(event_record, "cuEventRecord", 0);
	FIND(event_synchronize, "cuEventSynchronize", 0);
}

static void start(void)
{
	find_driver();
	driver.init(0);
	for (int i = 0; i < SIM_DEVICES; i++) {
		if (driver.retain(&contexts[i], i) != SIM_SUCCESS) {
			abort();
		}
	}
}

/* Every thread has a current device, 0 unless it chose another. */
void sim_enter(void)
{
	CUcontext context = NULL;

	pthread_once(&once, start);
	driver.get_current(&context);
	if (!context) {
		driver.set_current(contexts[current_device]);
	}
	if (tell) {
		tell();
	}
}

void sim_find(const char *base, void **to)
{
	void *found = NULL;

	pthread_once(&once, start);
	if (!__atomic_load_n(to, __ATOMIC_ACQUIRE)) {
		/* The driver clears it first, which other threads must not see. */
		find(base, &found, 0);
		__atomic_store_n(to, found, __ATOMIC_RELEASE);
	}
}

/* ---- errors: of the calling thread */

static _Thread_local int last_error;

int sim_done(int result)
{
	last_error = result != SIM_SUCCESS && result != SIM_NOT_READY ? result : last_error;
	return result;
}

int cudaPeekAtLastError(void)
{
	return last_error;
}

int cudaGetLastError(void)
{
	int result = last_error;

	last_error = SIM_SUCCESS;
	return result;
}

/* ---- */

int cudaSetDevice(int device)
{
	pthread_once(&once, start);
	if (device < 0 || device >= SIM_DEVICES) {
		return SIM_INVALID_DEVICE;
	}
	current_device = device;
	return driver.set_current(contexts[device]);
}

int cudaGetDevice(int *device)
{
	*device = current_device;
	return SIM_SUCCESS;
}

int cudaGetDeviceCount(int *count)
{
	*count = SIM_DEVICES;
	return SIM_SUCCESS;
}

int cudaDeviceSynchronize(void)
{
	sim_enter();
	return driver.synchronize();
}

int cudaMalloc(void **pointer, size_t size)
{
	sim_enter();
	return sim_done(driver.alloc((CUdeviceptr *)pointer, size));
}

int cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
	sim_enter();
	return driver.alloc_pitch((CUdeviceptr *)pointer, pitch, width, height, 4);
}

int cudaMalloc3D(struct cudaPitchedPtr *pointer, struct cudaExtent extent)
{
	sim_enter();
	pointer->xsize = extent.width;
	pointer->ysize = extent.height;
	return driver.alloc_pitch((CUdeviceptr *)&pointer->ptr, &pointer->pitch, extent.width,
				  extent.height * extent.depth, 4);
}

int cudaMallocAsync(void **pointer, size_t size, CUstream stream)
{
	sim_enter();
	return driver.alloc_async((CUdeviceptr *)pointer, size, stream);
}

int cudaMallocAsync_ptsz(void **pointer, size_t size, CUstream stream)
{
	sim_enter();
	return driver.alloc_async_per_thread((CUdeviceptr *)pointer, size, stream);
}

int cudaMallocManaged(void **pointer, size_t size, unsigned flags)
{
	sim_enter();
	return driver.alloc_managed((CUdeviceptr *)pointer, size, flags);
}

int cudaMallocHost(void **pointer, size_t size)
{
	sim_enter();
	return driver.host_alloc(pointer, size, 0);
}

int cudaHostAlloc(void **pointer, size_t size, unsigned flags)
{
	sim_enter();
	return driver.host_alloc(pointer, size, flags);
}

int cudaHostRegister(void *pointer, size_t size, unsigned flags)
{
	sim_enter();
	return driver.host_register(pointer, size, flags);
}

int cudaHostUnregister(void *pointer)
{
	sim_enter();
	return driver.host_unregister(pointer);
}

int cudaFree(void *pointer)
{
	sim_enter();
	return driver.free((CUdeviceptr)pointer);
}

int cudaFreeAsync(void *pointer, CUstream stream)
{
	sim_enter();
	return driver.free_async((CUdeviceptr)pointer, stream);
}

int cudaFreeAsync_ptsz(void *pointer, CUstream stream)
{
	sim_enter();
	return driver.free_async_per_thread((CUdeviceptr)pointer, stream);
}

int cudaFreeHost(void *pointer)
{
	sim_enter();
	return driver.free_host(pointer);
}

static int copy(void *to, const void *from, size_t bytes, int kind)
{
	sim_enter();
	return kind >= 0 && kind <= 4 ? driver.copy((CUdeviceptr)to, (CUdeviceptr)from, bytes)
				      : SIM_INVALID_VALUE;
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
	return copy(to, from, bytes, kind);
}

int cudaMemcpy_ptds(void *to, const void *from, size_t bytes, int kind)
{
	return copy(to, from, bytes, kind);
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, CUstream stream)
{
	sim_enter();
	return kind >= 0 && kind <= 4
		   ? driver.copy_async((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream)
		   : SIM_INVALID_VALUE;
}

int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
		 size_t height, int kind)
{
	int result = SIM_SUCCESS;

	for (size_t row = 0; result == SIM_SUCCESS && row < height; row++) {
		result = copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch,
			      width, kind);
	}
	return result;
}

int cudaMemset(void *to, int value, size_t bytes)
{
	sim_enter();
	return driver.set((CUdeviceptr)to, (unsigned char)value, bytes);
}

int cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent)
{
	int result = SIM_SUCCESS;

	sim_enter();
	for (size_t row = 0; result == SIM_SUCCESS && row < extent.height * extent.depth; row++) {
		result = driver.set((CUdeviceptr)to.ptr + row * to.pitch, (unsigned char)value,
				    extent.width);
	}
	return result;
}

static int launch(__typeof__(&cuLaunchKernel) *function, const void *kernel, struct dim3 grid,
		  struct dim3 block, void **arguments, size_t shared, CUstream stream)
{
	sim_enter();
	const void *launched = sim_launched(kernel);
	return sim_done((*function)((sim_kernel *)(uintptr_t)launched, grid.x, grid.y, grid.z,
				    block.x, block.y, block.z, (unsigned)shared, stream, arguments,
				    NULL));
}

int cudaLaunchKernel(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments,
		     size_t shared, CUstream stream)
{
	return launch(&driver.launch, kernel, grid, block, arguments, shared, stream);
}

int __cudaLaunchKernel(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments,
		       size_t shared, CUstream stream)
{
	return launch(&driver.launch, kernel, grid, block, arguments, shared, stream);
}

int __cudaLaunchKernel_ptsz(const void *kernel, struct dim3 grid, struct dim3 block,
			    void **arguments, size_t shared, CUstream stream)
{
	return launch(&driver.launch_per_thread, kernel, grid, block, arguments, shared, stream);
}

int cudaLaunchKernelExC(const struct sim_launch_config *config, const void *kernel,
			void **arguments)
{
	struct sim_launch_config of_driver = *config;

	sim_enter();
	of_driver.shared_of_driver = (unsigned)config->shared_of_runtime;
	const void *launched = sim_launched(kernel);
	return sim_done(
	    driver.launch_ex(&of_driver, (sim_kernel *)(uintptr_t)launched, arguments, NULL));
}

int cudaStreamCreate(CUstream *stream)
{
	sim_enter();
	return driver.stream_create(stream, 0);
}

int cudaStreamDestroy(CUstream stream)
{
	sim_enter();
	return driver.stream_destroy(stream);
}

int cudaStreamSynchronize(CUstream stream)
{
	sim_enter();
	return driver.stream_synchronize(stream);
}

int cudaStreamQuery(CUstream stream)
{
	sim_enter();
	return driver.stream_query(stream);
}

int cudaEventCreate(CUevent *event)
{
	sim_enter();
	return driver.event_create(event, 0);
}

int cudaEventDestroy(CUevent event)
{
	sim_enter();
	return driver.event_destroy(event);
}

int cudaEventRecord(CUevent event, CUstream stream)
{
	sim_enter();
	return driver.event_record(event, stream);
}

int cudaEventSynchronize(CUevent event)
{
	sim_enter();
	return driver.event_synchronize(event);
}
