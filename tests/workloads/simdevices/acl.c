/* A simulated libascendcl.so over device.h. */
#include "acl.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mspti.h"

static void (*_Atomic watch)(const struct sim_acl_work *work);
static _Atomic uint64_t correlation;

/* Returns ACL's number for a result of device.h. */
static int told(int result)
{
	return result == 0	   ? ACL_SUCCESS
	       : result == -ENOMEM ? ACL_ERROR_RT_MEMORY_ALLOCATION
	       : result == -ENODEV ? ACL_ERROR_RT_INVALID_DEVICEID
				   : ACL_ERROR_RT_PARAM_INVALID;
}

/* ---- times, for MSPTI */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sim_acl_watch(void (*with)(const struct sim_acl_work *work))
{
	watch = with;
}

static uint64_t begin_work(void)
{
	return watch ? now_ns() : 0;
}

/* Passes on WORK, which takes NS on STREAM. Returns RESULT, that of the call. */
static int end_work(struct sim_acl_work *work, uint64_t ns, aclrtStream stream, int result)
{
	void (*with)(const struct sim_acl_work *) = watch;

	if (with && work->call_start && stream && result == ACL_SUCCESS) {
		work->end = sim_stream_book(stream, work->call_start, ns);
		work->start = work->end - ns;
		work->stream = sim_stream_number(stream);
		work->thread = (uint32_t)gettid();
		work->correlation = ++correlation;
		work->call_end = now_ns();
		with(work);
	}
	return result;
}

/* ---- devices */

int aclInit(const char *configuration)
{
	return configuration ? ACL_ERROR_INVALID_PARAM : ACL_SUCCESS;
}

int aclFinalize(void)
{
	return ACL_SUCCESS;
}

int aclrtSetDevice(int device)
{
	return told(sim_set_device(device));
}

int aclrtGetDevice(int *device)
{
	*device = sim_device();
	return ACL_SUCCESS;
}

int aclrtGetDeviceCount(uint32_t *count)
{
	*count = SIM_DEVICES;
	return ACL_SUCCESS;
}

int aclrtSynchronizeDevice(void)
{
	sim_drain_device(sim_device());
	return ACL_SUCCESS;
}

/* ---- memory */

int aclrtMalloc(void **pointer, size_t size, int policy)
{
	return policy == 0 ? told(sim_alloc(pointer, size, sim_device())) : ACL_ERROR_INVALID_PARAM;
}

int aclrtMallocAlign32(void **pointer, size_t size, int policy)
{
	return aclrtMalloc(pointer, size, policy);
}

int aclrtMallocCached(void **pointer, size_t size, int policy)
{
	return aclrtMalloc(pointer, size, policy);
}

int aclrtMallocPhysical(void **handle, size_t size, const struct sim_memory_properties *properties,
			uint64_t flags)
{
	return flags == 0 ? told(sim_alloc(handle, size, (int)properties->location_id))
			  : ACL_ERROR_INVALID_PARAM;
}

int aclrtMemAllocManaged(void **pointer, uint64_t size, uint32_t flag)
{
	(void)flag;
	return told(sim_alloc(pointer, size, sim_device()));
}

int aclrtMallocHost(void **pointer, size_t size)
{
	return told(sim_alloc(pointer, size, SIM_HOST));
}

int aclrtHostRegister(void *pointer, uint64_t size, int type, void **device_pointer)
{
	*device_pointer = pointer;
	return pointer && size > 0 && type == 0 ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}

int aclrtFree(void *pointer)
{
	sim_drain_device(sim_device());
	return pointer ? told(sim_release(pointer)) : ACL_ERROR_INVALID_PARAM;
}

int aclrtFreePhysical(void *handle)
{
	return told(sim_release(handle));
}

int aclrtFreeHost(void *pointer)
{
	return told(sim_release(pointer));
}

int aclrtHostUnregister(void *pointer)
{
	return pointer ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}

/* ---- copies */

int aclrtMemcpyAsync(void *to, size_t most, const void *from, size_t count, int kind,
		     aclrtStream stream)
{
	struct sim_acl_work work = {
	    .call_start = begin_work(), .bytes = count, .function = "aclrtMemcpyAsync"};
	int result = count <= most && kind >= 0 && kind <= 4
			 ? told(sim_copy(stream, to, from, count))
			 : ACL_ERROR_INVALID_PARAM;

	return end_work(&work, SIM_ACL_BLOCK_NS, stream, result);
}

int aclrtMemcpy(void *to, size_t most, const void *from, size_t count, int kind)
{
	return aclrtMemcpyAsync(to, most, from, count, kind, NULL);
}

int aclrtMemcpy2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
		  size_t height, int kind)
{
	int result = ACL_SUCCESS;

	for (size_t row = 0; row < height && result == ACL_SUCCESS; row++) {
		result = aclrtMemcpy((char *)to + row * to_pitch, width,
				     (const char *)from + row * from_pitch, width, kind);
	}
	return result;
}

int aclrtMemcpyBatch(void **to, size_t *most, void **from, size_t *sizes, size_t count,
		     void *attributes, size_t *indexes, size_t attribute_count, size_t *failed)
{
	int result =
	    attributes && indexes && attribute_count == 1 ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;

	for (size_t i = 0; i < count && result == ACL_SUCCESS; i++) {
		*failed = i;
		result = aclrtMemcpy(to[i], most[i], from[i], sizes[i], 1);
	}
	return result;
}

int aclrtMemsetAsync(void *to, size_t most, int32_t value, size_t count, aclrtStream stream)
{
	return count <= most ? told(sim_set(stream, to, value, count)) : ACL_ERROR_INVALID_PARAM;
}

int aclrtMemset(void *to, size_t most, int32_t value, size_t count)
{
	return aclrtMemsetAsync(to, most, value, count, NULL);
}

/* ---- launches: arguments are words */

int aclrtBinaryLoadFromData(const void *data, size_t size, const void *options,
			    aclrtBinHandle *binary)
{
	*binary = (aclrtBinHandle)(uintptr_t)data;
	return data && size > 0 && !options ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}

int aclrtBinaryGetFunction(aclrtBinHandle binary, const char *name, aclrtFuncHandle *function)
{
	bool found = strcmp(binary->name, name) == 0;

	*function = found ? (aclrtFuncHandle)binary : NULL;
	return found ? ACL_SUCCESS : ACL_ERROR_RT_PARAM_INVALID;
}

int aclrtBinaryUnLoad(aclrtBinHandle binary)
{
	return binary ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}

int aclrtLaunchKernel(aclrtFuncHandle function, uint32_t blocks, const void *arguments,
		      size_t argument_bytes, aclrtStream stream)
{
	const struct sim_binary *binary = (const struct sim_binary *)function;
	struct sim_launch launch = {.grid = {blocks, 1, 1}, .block = {1, 1, 1}};
	struct sim_acl_work work = {.call_start = begin_work(), .function = "aclrtLaunchKernel"};

	if (!function || blocks == 0 || argument_bytes > sizeof(launch.arguments)) {
		return ACL_ERROR_INVALID_PARAM;
	}
	memcpy(launch.arguments, arguments, argument_bytes);
	work.name = binary->name;
	return end_work(&work, (uint64_t)blocks * SIM_ACL_BLOCK_NS, stream,
			told(sim_run(stream, binary->kernel, &launch)));
}

/* ---- streams and events: queries say how it stands in their last argument */

int aclrtCreateStream(aclrtStream *stream)
{
	*stream = sim_stream_new();
	return told(*stream ? 0 : -ENOMEM);
}

int aclrtDestroyStream(aclrtStream stream)
{
	return told(sim_stream_delete(stream));
}

int aclrtSynchronizeStream(aclrtStream stream)
{
	sim_drain(stream);
	return ACL_SUCCESS;
}

int aclrtStreamQuery(aclrtStream stream, int *status)
{
	*status = sim_step(stream) ? ACL_STREAM_STATUS_NOT_READY : ACL_STREAM_STATUS_COMPLETE;
	return ACL_SUCCESS;
}

int aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event)
{
	return told(sim_stream_wait(stream, event));
}

int aclrtCreateEvent(aclrtEvent *event)
{
	*event = sim_event_new();
	return told(*event ? 0 : -ENOMEM);
}

int aclrtDestroyEvent(aclrtEvent event)
{
	return told(sim_event_delete(event));
}

int aclrtRecordEvent(aclrtEvent event, aclrtStream stream)
{
	return told(sim_event_record(event, stream));
}

int aclrtQueryEventStatus(aclrtEvent event, int *status)
{
	*status = sim_event_done(event) ? ACL_EVENT_RECORDED_STATUS_COMPLETE
					: ACL_EVENT_RECORDED_STATUS_NOT_READY;
	return ACL_SUCCESS;
}

int aclrtSynchronizeEvent(aclrtEvent event)
{
	return told(sim_event_wait(event));
}
