/* kernels.h: the kernels of a CUDA process, numbered as the segment has them.
 *
 * A launch names its kernel by a host function, by the handle that the runtime gave for it, or by a
 * handle of the driver. The first launch gives the kernel its number and writes its name to the
 * segment.
 */
#ifndef HK_AGENT_RUNTIME_KERNELS_H
#define HK_AGENT_RUNTIME_KERNELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/object/object.h"
#include "agent/record/process.h"
#include "hooks/hook.h"

#define HK_HANDLES_BITS 14
#define HK_HANDLES (1u << HK_HANDLES_BITS)
#define HK_HANDLES_MIX 0x9e3779b97f4a7c15ULL

/* A host function or a handle that a launch may name. Entries of forgotten ones are used again. */
struct hk_handle {
	uint64_t key;	   /* 0: free */
	uint64_t function; /* of the host, or the handle, that it stands for; 0: itself */
	uint64_t module;   /* of the driver that it belongs to; 0: no module */
	uint32_t number;   /* of the kernel; 0: not known yet */
	/* The library was asked for its name, so its owner is not known. Any unload may end it. */
	uint32_t asked;
};

/* Written under the process's lock, and read without it. */
extern struct hk_handles {
	struct hk_handle *list;	     /* NULL: none yet */
	const void *_Atomic segment; /* that all numbers belong to; never NULL */
} hk_handles;

/* Returns the number of the kernel that a launch names by KEY, or 0 if the first place looked at
 * has another key. */
static inline uint32_t hk_kernels_known_at_once(uint64_t key)
{
	if (atomic_load_explicit(&hk_handles.segment, memory_order_acquire) !=
	    hk_process.writer.header) {
		return 0;
	}
	const struct hk_handle *handle =
	    &hk_handles.list[key * HK_HANDLES_MIX >> (64 - HK_HANDLES_BITS)];
	uint32_t number = __atomic_load_n(&handle->number, __ATOMIC_ACQUIRE);
	/* Another handle may have taken its place meanwhile. */
	return __atomic_load_n(&handle->key, __ATOMIC_RELAXED) == key ? number : 0;
}

/* Makes scans look for the library's functions. Before the first scan. */
void hk_kernels_setup(void);

/* Evaluates a kernel's factor without locks and foreign code. Returns false if it needs them.
 * General registers only. */
bool hk_kernels_known(const struct hk_call *call, const struct hk_factor *factor,
		      uint64_t *ret_value);

/* Evaluates a kernel's factor, and asks the host's library for a name that is not known. */
uint64_t hk_kernels_factor(struct hk_call *call, const struct hk_factor *factor);

/* Forgets the kernels that are launched by functions within SPAN, whose object was unloaded. */
void hk_kernels_forget(struct hk_span span);

#endif
