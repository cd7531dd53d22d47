#include "agent/runtime/cuda.h"

#include <stddef.h>

#include "agent/object/find.h"
#include "agent/runtime/operand.h"

#define NO_DEVICE (~0ULL)

/* Streams that are no objects: the default one and its two explicit names. They belong to the
 * current device, and to ask about them can spoil a capture. */
#define STREAM_PER_THREAD 2u

typedef int current_device(int *device);
typedef int stream_device(void *stream, int *device);

static uint64_t of_thread(void)
{
	static struct hk_find_kept driver = {.name = "cuCtxGetDevice"};
	static struct hk_find_kept runtime = {.name = "cudaGetDevice"};
	current_device *ask = hk_find_keep(&driver);
	int device = -1;
	if (!ask) {
		ask = hk_find_keep(&runtime);
	}
	return ask && ask(&device) == 0 ? (uint64_t)(int64_t)device : NO_DEVICE;
}

static uint64_t of_stream(uint64_t stream)
{
	/* Not in drivers before CUDA 12.8. */
	static struct hk_find_kept driver = {.name = "cuStreamGetDevice"};
	stream_device *ask = stream > STREAM_PER_THREAD ? hk_find_keep(&driver) : NULL;
	int device = -1;
	return ask && ask((void *)stream, &device) == 0 ? (uint64_t)(int64_t)device : of_thread();
}

uint64_t hk_cuda_factor(struct hk_call *call, const struct hk_factor *factor)
{
	if (hk_operand_failed(call)) {
		return NO_DEVICE;
	}
	return factor->kind == HK_FACTOR_DEVICE ? of_thread()
						: of_stream(hk_operand_argument(call, factor->arg));
}
