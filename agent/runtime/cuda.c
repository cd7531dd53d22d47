#include "agent/runtime/cuda.h"

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

/* Entry points. cuStreamGetDevice is missing in drivers before CUDA 12.8. */
enum entry { DRIVER_CURRENT, RUNTIME_CURRENT, DRIVER_STREAM, ENTRIES };

static struct hk_find_kept entries[ENTRIES] = {
    [DRIVER_CURRENT] = {.name = "cuCtxGetDevice"},
    [RUNTIME_CURRENT] = {.name = "cudaGetDevice"},
    [DRIVER_STREAM] = {.name = "cuStreamGetDevice"},
};

void hk_cuda_setup(void)
{
	hk_find_register(entries, ENTRIES);
}

static uint64_t of_thread(void)
{
	void *address;
	int device = -1;
	int r = hk_find_keep(&entries[DRIVER_CURRENT], &address);
	if (r == -ENOENT) {
		r = hk_find_keep(&entries[RUNTIME_CURRENT], &address);
	}
	return r == 0 && ((current_device *)address)(&device) == 0 ? (uint64_t)(int64_t)device
								   : NO_DEVICE;
}

static uint64_t of_stream(uint64_t stream)
{
	void *address;
	int device = -1;
	int r =
	    stream > STREAM_PER_THREAD ? hk_find_keep(&entries[DRIVER_STREAM], &address) : -ENOENT;
	if (r == -EBUSY) {
		/* The current device of the thread may be another one. */
		return NO_DEVICE;
	}
	return r == 0 && ((stream_device *)address)((void *)stream, &device) == 0
		   ? (uint64_t)(int64_t)device
		   : of_thread();
}

uint64_t hk_cuda_factor(struct hk_call *call, const struct hk_factor *factor)
{
	if (hk_operand_failed(call)) {
		return NO_DEVICE;
	}
	return factor->kind == HK_FACTOR_DEVICE ? of_thread()
						: of_stream(hk_operand_argument(call, factor->arg));
}
