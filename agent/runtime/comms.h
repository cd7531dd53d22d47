/* comms.h: stable numbers of communicators by handle, of MPI and of NCCL, whose live handles are
 * never equal.
 *
 * A number is a hash that all members of a communicator compute without messages. Bounded; a
 * communicator without room keeps the number of its first query. Any thread, not inside the process
 * lock; 0 means unknown.
 */
#ifndef HK_AGENT_RUNTIME_COMMS_H
#define HK_AGENT_RUNTIME_COMMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An odd number near 2^64 divided by the golden ratio: the upper bits of its product with a handle
 * are a good hash for a table. */
#define HK_COMMS_SPREAD 0x9e3779b97f4a7c15ULL

/* Spreads the bits of VALUE over 64. */
uint64_t hk_comms_mix(uint64_t value);

#define HK_COMMS 4096u

/* Written under the process lock, but for `root`. */
struct hk_comm {
	_Atomic uint64_t handle; /* 0: free; set once, after the rest */
	_Atomic uint64_t hash;
	uint64_t children;
	_Atomic uint64_t root; /* hk_comms_keep_root; the upper half: its moment */
};

extern struct hk_comm hk_comms[HK_COMMS];
extern _Atomic uint32_t hk_comms_moment;

/* The entry of HANDLE, and what an entry says. Takes no lock. Returns NULL if HANDLE is new. */
const struct hk_comm *hk_comms_known(uint64_t handle);

/* The same, but looks only where the entry of almost every handle is. */
static inline const struct hk_comm *hk_comms_known_at_once(uint64_t handle)
{
	const struct hk_comm *comm =
	    &hk_comms[(uint32_t)(handle * HK_COMMS_SPREAD >> 32) % HK_COMMS];
	bool has = handle && atomic_load_explicit(&comm->handle, memory_order_acquire) == handle;
	return has ? comm : NULL;
}

static inline uint64_t hk_comms_hash(const struct hk_comm *comm)
{
	return atomic_load_explicit(&comm->hash, memory_order_relaxed);
}

/* Sets the root argument that means this process. It is kept until a communicator is made or freed,
 * because a new one may have the handle of an old one. Returns false if the library must be asked.
 */
static inline bool hk_comms_root(const struct hk_comm *comm, int32_t *ret_root)
{
	uint64_t root = atomic_load_explicit(&comm->root, memory_order_relaxed);
	*ret_root = (int32_t)root;
	return root >> 32 == atomic_load_explicit(&hk_comms_moment, memory_order_acquire);
}

/* Number of HANDLE, FIRST if it is new. CHILD, if not NULL, gets the ordinal of its next child,
 * from 1. */
uint64_t hk_comms_get(uint64_t handle, uint64_t first, uint64_t *child);

/* Sets the number of HANDLE to HASH, without children. */
void hk_comms_set(uint64_t handle, uint64_t hash);

/* Keeps ROOT for HANDLE, which the library answered after MOMENT of hk_comms_moment was read. Only
 * for communicators with a number: the end of others is not hooked. */
void hk_comms_keep_root(uint64_t handle, int32_t root, uint32_t moment);
void hk_comms_forget_roots(void);

#endif
