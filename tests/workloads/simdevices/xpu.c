/* A simulated libxpurt.so over device.h. A launch is made of three calls on one thread. */
#include "xpu.h"

#include <errno.h>
#include <string.h>

static _Thread_local struct sim_launch next;
static _Thread_local XPUStream next_stream;

/* Returns the runtime's number for a result of device.h. */
static int told(int result)
{
	return result == 0	   ? XPU_SUCCESS
	       : result == -ENOMEM ? XPUERR_NOMEM
	       : result == -ENODEV ? XPUERR_INVALID_DEVICE
				   : XPUERR_INVALID_PARAM;
}

int xpu_set_device(int device)
{
	return told(sim_set_device(device));
}

int xpu_current_device(int *device)
{
	*device = sim_device();
	return XPU_SUCCESS;
}

int xpu_device_count(int *count)
{
	*count = SIM_DEVICES;
	return XPU_SUCCESS;
}

/* ---- memory */

int xpu_malloc(void **pointer, uint64_t size, int kind)
{
	bool known = kind == XPU_MEM_MAIN || kind == XPU_MEM_L3;

	return known ? told(sim_alloc(pointer, size, sim_device())) : XPUERR_INVALID_PARAM;
}

int xpu_free(void *pointer)
{
	sim_drain_device(sim_device());
	return told(sim_release(pointer));
}

int xpu_host_alloc(void **pointer, uint64_t size, unsigned flags)
{
	return flags == 0 ? told(sim_alloc(pointer, size, SIM_HOST)) : XPUERR_INVALID_PARAM;
}

int xpu_host_free(void *pointer)
{
	return told(sim_release(pointer));
}

int xpu_host_register(void *pointer, uint64_t size, unsigned flags)
{
	return pointer && size > 0 && flags == 0 ? XPU_SUCCESS : XPUERR_INVALID_PARAM;
}

int xpu_host_unregister(void *pointer)
{
	return pointer ? XPU_SUCCESS : XPUERR_INVALID_PARAM;
}

/* ---- copies */

int xpu_memcpy_async(void *to, const void *from, uint64_t size, int kind, XPUStream stream)
{
	return kind >= 0 && kind <= 2 ? told(sim_copy(stream, to, from, size))
				      : XPUERR_INVALID_PARAM;
}

int xpu_memcpy(void *to, const void *from, uint64_t size, int kind)
{
	return xpu_memcpy_async(to, from, size, kind, NULL);
}

int xpu_memcpy_peer(int to_device, void *to, int from_device, const void *from, uint64_t size)
{
	bool known = to_device >= 0 && to_device < SIM_DEVICES && from_device >= 0 &&
		     from_device < SIM_DEVICES;

	return known ? told(sim_copy(NULL, to, from, size)) : XPUERR_INVALID_DEVICE;
}

/* ---- launches: the code of a function is the address of a host function */

int xpu_create_cl_func(XPUFunc *function, uint64_t code, uint32_t bytes, uint32_t pc,
		       uint32_t parameter_words, uint64_t hash, const char *name, bool on_xpu)
{
	(void)hash;
	*function = (XPUFunc)code;
	return code && bytes && !pc && parameter_words && name && !on_xpu ? XPU_SUCCESS
									  : XPUERR_INVALID_PARAM;
}

int xpu_launch_config(int clusters, int cores, XPUStream stream)
{
	next = (struct sim_launch){.grid = {(uint32_t)clusters, 1, 1},
				   .block = {(uint32_t)cores, 1, 1}};
	next_stream = stream;
	return clusters > 0 && cores > 0 ? XPU_SUCCESS : XPUERR_INVALID_PARAM;
}

int xpu_launch_argument_set(const void *argument, size_t size, size_t offset)
{
	if (offset > sizeof(next.arguments) || size > sizeof(next.arguments) - offset) {
		return XPUERR_INVALID_PARAM;
	}
	memcpy((char *)next.arguments + offset, argument, size);
	return XPU_SUCCESS;
}

int xpu_launch_async(XPUFunc function)
{
	return function ? told(sim_run(next_stream, (sim_kernel *)(uintptr_t)function, &next))
			: XPUERR_NOXPUFUNC;
}

/* ---- streams and events */

int xpu_stream_create(XPUStream *stream)
{
	*stream = sim_stream_new();
	return told(*stream ? 0 : -ENOMEM);
}

int xpu_stream_destroy(XPUStream stream)
{
	return told(sim_stream_delete(stream));
}

int xpu_wait(XPUStream stream)
{
	sim_drain(stream);
	return XPU_SUCCESS;
}

int xpu_stream_synchronize(XPUStream stream)
{
	return xpu_wait(stream);
}

int xpu_stream_wait_event(XPUStream stream, XPUEvent event)
{
	return told(sim_stream_wait(stream, event));
}

int xpu_event_create(XPUEvent *event)
{
	*event = sim_event_new();
	return told(*event ? 0 : -ENOMEM);
}

int xpu_event_record(XPUEvent event, XPUStream stream)
{
	return told(sim_event_record(event, stream));
}

int xpu_event_wait(XPUEvent event)
{
	return told(sim_event_wait(event));
}

int xpu_event_destroy(XPUEvent event)
{
	return told(sim_event_delete(event));
}
