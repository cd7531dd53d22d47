/* A simulated libcuda.so.1: two devices whose memory is the host's, a current context per thread,
 * work done at once. Each entry is counted. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"
#include "hooktrace.h"
#include "work.h"

#define BLOCKS 4096
#define PITCH 512

struct sim_context {
	int device;
};
struct sim_stream {
	int device;
	_Atomic bool busy; /* a query says "not ready" once after each piece of work */
};
struct sim_event {
	_Atomic bool recorded;
	_Atomic uint64_t recorded_ns;
};

/* What was allocated. Page-locked memory of the program's own is no block of ours. */
static struct {
	uint64_t at;
	size_t size;
	int device; /* -1: the host's */
} blocks[BLOCKS];
static size_t used[SIM_DEVICES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sim_context contexts[SIM_DEVICES] = {{0}, {1}};
static _Thread_local struct sim_context *current;

/* ---- contexts */

int cuInit(unsigned flags)
{
	ENTER(cuInit);
	return flags == 0 ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuDevicePrimaryCtxRetain(CUcontext *context, int device)
{
	ENTER(cuDevicePrimaryCtxRetain);
	if (device < 0 || device >= SIM_DEVICES) {
		return SIM_INVALID_DEVICE;
	}
	*context = &contexts[device];
	return SIM_SUCCESS;
}

int cuCtxSetCurrent(CUcontext context)
{
	ENTER(cuCtxSetCurrent);
	current = context;
	return SIM_SUCCESS;
}

int cuCtxGetCurrent(CUcontext *context)
{
	ENTER(cuCtxGetCurrent);
	*context = current;
	return SIM_SUCCESS;
}

int cuCtxGetDevice(int *device)
{
	if (!current) {
		return SIM_INVALID_VALUE;
	}
	*device = current->device;
	return SIM_SUCCESS;
}

int cuCtxSynchronize(void)
{
	ENTER(cuCtxSynchronize);
	sim_work_wait(NULL);
	return SIM_SUCCESS;
}

/* ---- memory */

static int note_block(uint64_t at, size_t size, int device)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (blocks[i].at == 0) {
			blocks[i].at = at;
			blocks[i].size = size;
			blocks[i].device = device;
			used[device < 0 ? 0 : device] += device < 0 ? 0 : size;
			return SIM_SUCCESS;
		}
	}
	return SIM_OUT_OF_MEMORY;
}

static int allocate(uint64_t *ret_pointer, size_t size, int device)
{
	int result = SIM_OUT_OF_MEMORY;
	void *at = size > 0 ? calloc(1, size) : NULL;

	pthread_mutex_lock(&mutex);
	if (at && (device < 0 || size <= SIM_DEVICE_BYTES - used[device])) {
		result = note_block((uint64_t)at, size, device);
	}
	pthread_mutex_unlock(&mutex);
	if (result != SIM_SUCCESS) {
		free(at);
		return size == 0 ? SIM_INVALID_VALUE : result;
	}
	*ret_pointer = (uint64_t)at;
	return SIM_SUCCESS;
}

int sim_allocate(CUdeviceptr *pointer, size_t size, int device)
{
	return allocate(pointer, size, device);
}

size_t sim_used(int device)
{
	return used[device];
}

void sim_block_device(CUdeviceptr pointer, int *device)
{
	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (blocks[i].at && pointer - blocks[i].at < blocks[i].size) {
			*device = blocks[i].device;
		}
	}
	pthread_mutex_unlock(&mutex);
}

static int allocate_here(uint64_t *ret_pointer, size_t size)
{
	return current ? allocate(ret_pointer, size, current->device) : SIM_INVALID_VALUE;
}

static int release(uint64_t pointer)
{
	int result = pointer ? SIM_INVALID_VALUE : SIM_SUCCESS;

	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; pointer && i < BLOCKS; i++) {
		if (blocks[i].at == pointer) {
			used[blocks[i].device < 0 ? 0 : blocks[i].device] -=
			    blocks[i].device < 0 ? 0 : blocks[i].size;
			blocks[i].at = 0;
			result = SIM_SUCCESS;
			break;
		}
	}
	pthread_mutex_unlock(&mutex);
	if (result == SIM_SUCCESS) {
		free((void *)pointer);
	}
	return result;
}

int cuMemAlloc_v2(CUdeviceptr *pointer, size_t size)
{
	ENTER(cuMemAlloc_v2);
	return allocate_here(pointer, size);
}

int cuMemAllocPitch_v2(CUdeviceptr *pointer, size_t *pitch, size_t width, size_t height,
		       unsigned element)
{
	ENTER(cuMemAllocPitch_v2);
	*pitch = (width + PITCH - 1) / PITCH * PITCH;
	return element == 4 ? allocate_here(pointer, *pitch * height) : SIM_INVALID_VALUE;
}

static int allocate_on(CUdeviceptr *pointer, size_t size, CUstream stream)
{
	return stream ? allocate(pointer, size, stream->device) : allocate_here(pointer, size);
}

int cuMemAllocAsync(CUdeviceptr *pointer, size_t size, CUstream stream)
{
	ENTER(cuMemAllocAsync);
	return allocate_on(pointer, size, stream);
}

int cuMemAllocAsync_ptsz(CUdeviceptr *pointer, size_t size, CUstream stream)
{
	ENTER(cuMemAllocAsync_ptsz);
	return allocate_on(pointer, size, stream);
}

int cuMemAllocManaged(CUdeviceptr *pointer, size_t size, unsigned flags)
{
	ENTER(cuMemAllocManaged);
	return flags == 1 ? allocate_here(pointer, size) : SIM_INVALID_VALUE;
}

int cuMemHostAlloc(void **pointer, size_t size, unsigned flags)
{
	uint64_t at = 0;

	(void)flags;
	ENTER(cuMemHostAlloc);
	int result = allocate(&at, size, -1);
	if (result == SIM_SUCCESS) {
		*pointer = (void *)at;
	}
	return result;
}

int cuMemHostRegister_v2(void *pointer, size_t size, unsigned flags)
{
	ENTER(cuMemHostRegister_v2);
	return pointer && size > 0 && flags == 0 ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuMemHostUnregister(void *pointer)
{
	ENTER(cuMemHostUnregister);
	return pointer ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuMemFree_v2(CUdeviceptr pointer)
{
	ENTER(cuMemFree_v2);
	return release(pointer);
}

int cuMemFreeAsync(CUdeviceptr pointer, CUstream stream)
{
	(void)stream;
	ENTER(cuMemFreeAsync);
	return release(pointer);
}

int cuMemFreeAsync_ptsz(CUdeviceptr pointer, CUstream stream)
{
	(void)stream;
	ENTER(cuMemFreeAsync_ptsz);
	return release(pointer);
}

int cuMemFreeHost(void *pointer)
{
	ENTER(cuMemFreeHost);
	return release((uint64_t)pointer);
}

int cuMemCreate(uint64_t *handle, size_t size, const struct sim_memory_properties *properties,
		uint64_t flags)
{
	ENTER(cuMemCreate);
	if (flags != 0 || properties->location_id < 0 || properties->location_id >= SIM_DEVICES) {
		return SIM_INVALID_VALUE;
	}
	return allocate(handle, size, properties->location_id);
}

int cuMemRelease(uint64_t handle)
{
	ENTER(cuMemRelease);
	return release(handle);
}

/* ---- what the device does, and says: at once, within the call that asks for it */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Not the default stream, nor one of its two explicit names. */
static bool is_stream(CUstream stream)
{
	return (uintptr_t)stream > 2;
}

static struct hk_activity begin(enum hk_activity_kind kind, const char *name, CUstream stream,
				size_t bytes)
{
	uint64_t now = now_ns();

	if (is_stream(stream)) {
		stream->busy = true;
	}
	return (struct hk_activity){
	    .name = name,
	    .kind = kind,
	    .device = is_stream(stream) ? stream->device
		      : current		? current->device
					: 0,
	    .stream = (uint64_t)stream,
	    .bytes = bytes,
	    .submitted_ns = now,
	    .start_ns = now,
	};
}

/* With SIM_QUIET set, the devices tell nothing: a real driver does not either. */
static bool is_quiet(void)
{
	static _Atomic int quiet; /* 0: not known, 1: no, 2: yes */

	if (quiet == 0) {
		quiet = getenv("SIM_QUIET") ? 2 : 1;
	}
	return quiet == 2;
}

/* A simulated CUPTI that watches reports it in place of the driver itself. SHAPE: of a KERNEL. */
static int end_of(struct hk_activity *activity, const void *kernel, const unsigned *shape)
{
	activity->end_ns = now_ns();
	if (!sim_work_tell(activity, kernel, shape)) {
		if (!is_quiet()) {
			hk_activity(activity);
		}
	}
	return SIM_SUCCESS;
}

static int end(struct hk_activity *activity)
{
	return end_of(activity, NULL, NULL);
}

/* ---- copies */

static int copy_on(const char *name, CUdeviceptr to, CUdeviceptr from, size_t bytes,
		   CUstream stream)
{
	static const unsigned no_shape[7];
	if (is_stream(stream) && sim_graph_capture(stream, NULL, no_shape)) {
		return SIM_SUCCESS;
	}
	struct hk_activity activity = begin(HK_ACTIVITY_COPY, name, stream, bytes);

	memmove((void *)to, (const void *)from, bytes);
	return end(&activity);
}

/* Returns when the copy, and the work before it, is done. */
static int copy_and_wait(const char *name, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	int result = copy_on(name, to, from, bytes, NULL);

	sim_work_wait(NULL);
	return result;
}

int cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	ENTER(cuMemcpy);
	return copy_and_wait("Memcpy DtoD (simulated)", to, from, bytes);
}

int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
	ENTER(cuMemcpyHtoD_v2);
	return copy_and_wait("Memcpy HtoD (simulated)", to, (CUdeviceptr)from, bytes);
}

int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
	ENTER(cuMemcpyDtoH_v2);
	return copy_and_wait("Memcpy DtoH (simulated)", (CUdeviceptr)to, from, bytes);
}

int cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	ENTER(cuMemcpyAsync);
	return copy_on("Memcpy DtoD (simulated)", to, from, bytes, stream);
}

int cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	ENTER(cuMemcpyAsync_ptsz);
	return copy_on("Memcpy DtoD (simulated)", to, from, bytes, stream);
}

int cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes)
{
	struct hk_activity activity = begin(HK_ACTIVITY_SET, "Memset (simulated)", NULL, bytes);

	ENTER(cuMemsetD8_v2);
	memset((void *)to, value, bytes);
	return end(&activity);
}

/* ---- launches, streams, events */

static int launch(sim_kernel *kernel, const unsigned shape[7], CUstream stream, void **arguments)
{
	if (is_stream(stream) && sim_graph_capture(stream, (const void *)kernel, shape)) {
		return SIM_SUCCESS;
	}
	struct hk_activity activity =
	    begin(HK_ACTIVITY_KERNEL, sim_function_name((const void *)kernel), stream, 0);

	if (!sim_function_run((const void *)kernel, arguments, shape)) {
		kernel(arguments, shape);
	}
	return end_of(&activity, (const void *)kernel, shape);
}

int sim_graph_run(const void *kernel, const unsigned shape[7], CUstream stream)
{
	struct hk_activity activity =
	    kernel ? begin(HK_ACTIVITY_KERNEL, sim_function_name(kernel), stream, 0)
		   : begin(HK_ACTIVITY_COPY, "Memcpy (simulated)", stream, 0);

	return end_of(&activity, kernel, kernel ? shape : NULL);
}

int cuLaunchKernel(sim_kernel *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
		   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
		   CUstream stream, void **arguments, void **extra)
{
	const unsigned shape[7] = {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared};

	ENTER(cuLaunchKernel);
	return extra ? SIM_INVALID_VALUE : launch(kernel, shape, stream, arguments);
}

int cuLaunchKernel_ptsz(sim_kernel *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
			CUstream stream, void **arguments, void **extra)
{
	const unsigned shape[7] = {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared};

	ENTER(cuLaunchKernel_ptsz);
	return extra ? SIM_INVALID_VALUE : launch(kernel, shape, stream, arguments);
}

int cuLaunchKernelEx(const struct sim_launch_config *config, sim_kernel *kernel, void **arguments,
		     void **extra)
{
	const unsigned shape[7] = {config->grid[0],	    config->grid[1],  config->grid[2],
				   config->block[0],	    config->block[1], config->block[2],
				   config->shared_of_driver};

	ENTER(cuLaunchKernelEx);
	return extra ? SIM_INVALID_VALUE : launch(kernel, shape, config->stream, arguments);
}

int cuStreamCreate(CUstream *stream, unsigned flags)
{
	ENTER(cuStreamCreate);
	*stream = current && flags <= 1 ? calloc(1, sizeof(**stream)) : NULL;
	if (!*stream) {
		return SIM_INVALID_VALUE;
	}
	(*stream)->device = current->device;
	return SIM_SUCCESS;
}

int cuStreamDestroy_v2(CUstream stream)
{
	ENTER(cuStreamDestroy_v2);
	free(stream);
	return stream ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuStreamSynchronize(CUstream stream)
{
	ENTER(cuStreamSynchronize);
	sim_work_wait(stream);
	if (stream) {
		stream->busy = false;
	}
	return SIM_SUCCESS;
}

int cuStreamQuery(CUstream stream)
{
	ENTER(cuStreamQuery);
	return stream && atomic_exchange(&stream->busy, false) ? SIM_NOT_READY : SIM_SUCCESS;
}

int cuStreamGetDevice(CUstream stream, int *device)
{
	if (!stream) {
		return cuCtxGetDevice(device);
	}
	*device = stream->device;
	return SIM_SUCCESS;
}

int cuEventCreate(CUevent *event, unsigned flags)
{
	ENTER(cuEventCreate);
	*event = flags <= 7 ? calloc(1, sizeof(**event)) : NULL;
	return *event ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuEventDestroy_v2(CUevent event)
{
	ENTER(cuEventDestroy_v2);
	free(event);
	return event ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuEventRecord(CUevent event, CUstream stream)
{
	(void)stream;
	ENTER(cuEventRecord);
	event->recorded_ns = now_ns();
	event->recorded = true;
	return SIM_SUCCESS;
}

int cuEventQuery(CUevent event)
{
	ENTER(cuEventQuery);
	return event->recorded ? SIM_SUCCESS : SIM_NOT_READY;
}

int cuEventSynchronize(CUevent event)
{
	ENTER(cuEventSynchronize);
	return event->recorded ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	if (!from->recorded || !to->recorded) {
		return SIM_INVALID_HANDLE;
	}
	*ms = (float)(to->recorded_ns - from->recorded_ns) / 1e6f;
	return SIM_SUCCESS;
}
