#include "agent/runtime/device.h"

#include <errno.h>
#include <stddef.h>

#include "agent/object/find.h"
#include "agent/runtime/operand.h"

#define NO_DEVICE (~0ULL)

/* Handles up to this are no objects: the default stream and its two explicit names. They belong to
 * the current device, and asking about them can invalidate a capture. */
#define STREAM_PER_THREAD 2u

typedef int current_device(int *device);
typedef int stream_device(void *stream, int *device);
typedef int device_of_stream(void *stream); /* HIP's: negative if it has no answer */

/* Entry points. cuStreamGetDevice is missing in drivers before CUDA 12.8. */
enum entry {
	CUDA_DRIVER_CURRENT,
	CUDA_CURRENT,
	HIP_CURRENT,
	ACL_CURRENT,
	XPU_CURRENT,
	CUDA_STREAM,
	HIP_STREAM,
	ENTRIES
};

static struct hk_find_kept entries[ENTRIES] = {
    [CUDA_DRIVER_CURRENT] = {.name = "cuCtxGetDevice"},
    [CUDA_CURRENT] = {.name = "cudaGetDevice"},
    [HIP_CURRENT] = {.name = "hipGetDevice"},
    [ACL_CURRENT] = {.name = "aclrtGetDevice"},
    [XPU_CURRENT] = {.name = "xpu_current_device"},
    [CUDA_STREAM] = {.name = "cuStreamGetDevice"},
    [HIP_STREAM] = {.name = "hipGetStreamDeviceId"},
};

/* What answers for the current device, by runtime. */
static const uint8_t current_entry[] = {
    [HK_RUNTIME_CUDA] = CUDA_DRIVER_CURRENT,
    [HK_RUNTIME_HIP] = HIP_CURRENT,
    [HK_RUNTIME_ACL] = ACL_CURRENT,
    [HK_RUNTIME_XPU] = XPU_CURRENT,
};

void hk_device_setup(void)
{
	hk_find_register(entries, ENTRIES);
}

static uint64_t of_thread(uint8_t runtime)
{
	void *address;
	int device = -1;
	int r = hk_find_keep(&entries[current_entry[runtime]], &address);
	if (r == -ENOENT && runtime == HK_RUNTIME_CUDA) {
		r = hk_find_keep(&entries[CUDA_CURRENT], &address);
	}
	return r == 0 && ((current_device *)address)(&device) == 0 ? (uint64_t)(int64_t)device
								   : NO_DEVICE;
}

/* Sets *ret_device to the device of STREAM. Returns 0, -ENOENT if there is no answer, or -EBUSY. */
static int ask_stream(uint64_t stream, uint8_t runtime, int *ret_device)
{
	bool hip = runtime == HK_RUNTIME_HIP;
	void *address;
	if (stream <= STREAM_PER_THREAD || (runtime != HK_RUNTIME_CUDA && !hip)) {
		return -ENOENT;
	}
	int r = hk_find_keep(&entries[hip ? HIP_STREAM : CUDA_STREAM], &address);
	if (r < 0) {
		return r;
	}
	if (hip) {
		*ret_device = ((device_of_stream *)address)((void *)stream);
		return *ret_device >= 0 ? 0 : -ENOENT;
	}
	return ((stream_device *)address)((void *)stream, ret_device) == 0 ? 0 : -ENOENT;
}

static uint64_t of_stream(uint64_t stream, uint8_t runtime)
{
	int device;
	int r = ask_stream(stream, runtime, &device);
	if (r == -EBUSY) {
		/* The current device of the thread may be another one. */
		return NO_DEVICE;
	}
	return r == 0 ? (uint64_t)(int64_t)device : of_thread(runtime);
}

uint64_t hk_device_factor(struct hk_call *call, const struct hk_factor *factor)
{
	uint8_t runtime = call->site->hook->runtime;
	if (hk_operand_failed(call)) {
		return NO_DEVICE;
	}
	return factor->kind == HK_FACTOR_DEVICE
		   ? of_thread(runtime)
		   : of_stream(hk_operand_argument(call, factor->arg), runtime);
}
