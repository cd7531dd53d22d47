#include "frame/cuda.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "frame/values.h"
#include "patch/find.h"

#define NO_DEVICE (~0ULL)

/* Streams that are no objects: the default one and its two explicit names. They belong to the
 * current device, and to ask about them can spoil a capture. */
#define STREAM_PER_THREAD 2u

typedef int current_device(int *device);
typedef int stream_device(void *stream, int *device);

/* Several threads may look up the same address at once. Not found is looked for again: the driver
 * may be loaded later. */
static void *entry_point(void *_Atomic *known, const char *name, const char *otherwise)
{
	void *found = atomic_load_explicit(known, memory_order_relaxed);
	if (!found) {
		found = hk_find_function("*", name);
		found = found || !otherwise ? found : hk_find_function("*", otherwise);
		atomic_store_explicit(known, found, memory_order_relaxed);
	}
	return found;
}

static uint64_t of_thread(void)
{
	static void *_Atomic known;
	current_device *ask = entry_point(&known, "cuCtxGetDevice", "cudaGetDevice");
	int device = -1;
	return ask && ask(&device) == 0 ? (uint64_t)(int64_t)device : NO_DEVICE;
}

static uint64_t of_stream(uint64_t stream)
{
	static void *_Atomic known;
	static _Atomic(bool) missing; /* drivers before CUDA 12.8 */
	if (stream <= STREAM_PER_THREAD || atomic_load_explicit(&missing, memory_order_relaxed)) {
		return of_thread();
	}
	stream_device *ask = entry_point(&known, "cuStreamGetDevice", NULL);
	int device = -1;
	if (!ask) {
		atomic_store_explicit(&missing, true, memory_order_relaxed);
	}
	return ask && ask((void *)stream, &device) == 0 ? (uint64_t)(int64_t)device : of_thread();
}

uint64_t hk_cuda_factor(struct hk_call *call, const struct hk_factor *factor)
{
	if (hk_values_failed(call)) {
		return NO_DEVICE;
	}
	return factor->kind == HK_FACTOR_DEVICE ? of_thread()
						: of_stream(hk_values_argument(call, factor->arg));
}
