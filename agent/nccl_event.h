/* nccl_event.h: events that NCCL reports to its profiler plugin, from start to stop.
 *
 * Events live in a ring of HK_NCCL_EVENTS; the oldest gives way, so that events without a stop take
 * no more memory. A handle is a number, and is checked: NCCL's handles may be stale, and those of a
 * proxy of another process are foreign. What has ended is counted and recorded by annotate.h. Any
 * thread, no lock.
 */
#ifndef HK_AGENT_NCCL_EVENT_H
#define HK_AGENT_NCCL_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#define HK_NCCL_EVENTS 4096u
#define HK_NCCL_COMMS 256u

/* A communicator, from init to finalize. Returns its context, 0: there was no room. */
uintptr_t hk_nccl_comm_open(uint64_t hash, int ranks, int rank);
void hk_nccl_comm_close(uintptr_t context);

/* What a descriptor says, whatever its version. */
struct hk_nccl_start {
	uint64_t type;	   /* HK_NCCL_* */
	uintptr_t parent;  /* handle; 0: none, or of another process */
	uint64_t comm;	   /* hash; 0: the context's */
	const char *func;  /* "AllReduce"; lives in NCCL */
	uint64_t count;	   /* elements */
	uint32_t width;	   /* bytes of one; 0: unknown */
	uint32_t channels; /* kernel channels that the operation will have; 0: unknown */
	uint32_t channel;  /* of a kernel channel or a proxy operation */
	bool is_send;
	uint64_t bytes;	  /* of a proxy operation, at most */
	uint64_t gpu_ns;  /* start by the GPU's timer; 0: unknown */
	uintptr_t caller; /* address in NCCL */
};

/* Returns a handle, 0: the event is of no interest. */
uintptr_t hk_nccl_event_start(uintptr_t context, const struct hk_nccl_start *start);
void hk_nccl_event_stop(uintptr_t handle);

/* A kernel channel has ended by the GPU's timer. */
void hk_nccl_event_gpu(uintptr_t handle, uint64_t gpu_ns);

/* Adds bytes that a proxy step moved. */
void hk_nccl_event_moved(uintptr_t handle, uint64_t bytes);

#endif
