/* A simulated libamdhip64.so.6 over device.h. */
#include "hip.h"

#include <errno.h>
#include <string.h>

static _Thread_local int last_error;

/* Returns HIP's number for a result of device.h, and keeps it for hipGetLastError. */
static int told(int result)
{
	int error = result == 0		? hipSuccess
		    : result == -ENOMEM ? hipErrorOutOfMemory
		    : result == -ENODEV ? hipErrorInvalidDevice
		    : result == -ENOENT ? hipErrorNotFound
					: hipErrorInvalidValue;

	last_error = error != hipSuccess ? error : last_error;
	return error;
}

int hipGetDeviceCount(int *count)
{
	*count = SIM_DEVICES;
	return hipSuccess;
}

int hipSetDevice(int device)
{
	return told(sim_set_device(device));
}

int hipGetDevice(int *device)
{
	*device = sim_device();
	return hipSuccess;
}

int hipDeviceSynchronize(void)
{
	sim_drain_device(sim_device());
	return hipSuccess;
}

int hipGetLastError(void)
{
	int error = last_error;

	last_error = hipSuccess;
	return error;
}

/* ---- memory */

int hipMalloc(void **pointer, size_t size)
{
	return told(sim_alloc(pointer, size, sim_device()));
}

int hipMallocAsync(void **pointer, size_t size, hipStream_t stream)
{
	return told(sim_alloc(pointer, size, sim_stream_device(stream)));
}

int hipMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
	*pitch = (width + SIM_PITCH - 1) / SIM_PITCH * SIM_PITCH;
	return told(sim_alloc(pointer, *pitch * height, sim_device()));
}

int hipMallocManaged(void **pointer, size_t size, unsigned flags)
{
	return told(flags == 1 ? sim_alloc(pointer, size, sim_device()) : -EINVAL);
}

int hipHostMalloc(void **pointer, size_t size, unsigned flags)
{
	(void)flags;
	return told(sim_alloc(pointer, size, SIM_HOST));
}

int hipHostRegister(void *pointer, size_t size, unsigned flags)
{
	return told(pointer && size > 0 && flags == 0 ? 0 : -EINVAL);
}

int hipHostUnregister(void *pointer)
{
	return told(pointer ? 0 : -EINVAL);
}

int hipFree(void *pointer)
{
	sim_drain_device(sim_device());
	return told(sim_release(pointer));
}

int hipFreeAsync(void *pointer, hipStream_t stream)
{
	sim_drain(stream);
	return told(sim_release(pointer));
}

int hipHostFree(void *pointer)
{
	return told(sim_release(pointer));
}

/* ---- copies */

int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, hipStream_t stream)
{
	return told(kind >= 0 && kind <= 4 ? sim_copy(stream, to, from, bytes) : -EINVAL);
}

int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
	return hipMemcpyAsync(to, from, bytes, kind, NULL);
}

int hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
		size_t height, int kind)
{
	int result = hipSuccess;

	for (size_t row = 0; row < height && result == hipSuccess; row++) {
		result = hipMemcpyAsync((char *)to + row * to_pitch,
					(const char *)from + row * from_pitch, width, kind, NULL);
	}
	return result;
}

int hipMemcpyHtoDAsync(void *to, void *from, size_t bytes, hipStream_t stream)
{
	return told(sim_copy(stream, to, from, bytes));
}

int hipMemset(void *to, int value, size_t bytes)
{
	return told(sim_set(NULL, to, value, bytes));
}

int hipMemsetD32Async(void *to, int value, size_t count, hipStream_t stream)
{
	return told(sim_set(stream, to, value, 4 * count));
}

/* ---- launches: an argument is the value that its address holds */

static int launch(sim_kernel *kernel, const struct sim_launch *shape, void **arguments,
		  hipStream_t stream)
{
	struct sim_launch launched = *shape;

	for (int i = 0; i < 2 && arguments; i++) {
		memcpy(&launched.arguments[i], arguments[i], sizeof(void *));
	}
	return told(kernel ? sim_run(stream, kernel, &launched) : -EINVAL);
}

int hipLaunchKernel(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments,
		    size_t shared, hipStream_t stream)
{
	const struct sim_launch shape = {.grid = {grid.x, grid.y, grid.z},
					 .block = {block.x, block.y, block.z},
					 .shared = (uint32_t)shared};

	return launch((sim_kernel *)(uintptr_t)kernel, &shape, arguments, stream);
}

int hipLaunchKernel_spt(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments,
			size_t shared, hipStream_t stream)
{
	return hipLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

int hipModuleLoadData(hipModule_t *module, const void *image)
{
	*module = (hipModule_t)(uintptr_t)image;
	return told(image ? 0 : -EINVAL);
}

int hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name)
{
	bool found = strcmp(module->name, name) == 0;

	*function = found ? (hipFunction_t)(uintptr_t)module->kernel : NULL;
	return told(found ? 0 : -ENOENT);
}

int hipModuleUnload(hipModule_t module)
{
	return told(module ? 0 : -EINVAL);
}

int hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
			  hipStream_t stream, void **arguments, void **extra)
{
	const struct sim_launch shape = {.grid = {grid_x, grid_y, grid_z},
					 .block = {block_x, block_y, block_z},
					 .shared = shared};

	return extra ? told(-EINVAL)
		     : launch((sim_kernel *)(uintptr_t)function, &shape, arguments, stream);
}

/* ---- streams and events */

int hipStreamCreate(hipStream_t *stream)
{
	*stream = sim_stream_new();
	return told(*stream ? 0 : -ENOMEM);
}

int hipStreamDestroy(hipStream_t stream)
{
	return told(sim_stream_delete(stream));
}

int hipStreamSynchronize(hipStream_t stream)
{
	sim_drain(stream);
	return hipSuccess;
}

int hipStreamQuery(hipStream_t stream)
{
	return sim_step(stream) ? hipErrorNotReady : hipSuccess;
}

int hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags)
{
	return told(flags == 0 ? sim_stream_wait(stream, event) : -EINVAL);
}

int hipGetStreamDeviceId(hipStream_t stream)
{
	return sim_stream_device(stream);
}

int hipEventCreate(hipEvent_t *event)
{
	*event = sim_event_new();
	return told(*event ? 0 : -ENOMEM);
}

int hipEventDestroy(hipEvent_t event)
{
	return told(sim_event_delete(event));
}

int hipEventRecord(hipEvent_t event, hipStream_t stream)
{
	return told(sim_event_record(event, stream));
}

int hipEventQuery(hipEvent_t event)
{
	return sim_event_done(event) ? hipSuccess : hipErrorNotReady;
}

int hipEventSynchronize(hipEvent_t event)
{
	return told(sim_event_wait(event));
}
