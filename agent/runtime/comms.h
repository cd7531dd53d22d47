/* comms.h: the stable numbers of communicators, by handle: of MPI and of NCCL, whose live handles
 * never meet.
 *
 * A number is a hash that all members of a communicator arrive at without talking. Bounded; a
 * communicator that finds no room keeps the number it is first asked with. Any thread, not inside
 * the process lock; 0 means unknown.
 */
#ifndef HK_AGENT_RUNTIME_COMMS_H
#define HK_AGENT_RUNTIME_COMMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An odd number near 2^64 divided by the golden ratio: the upper bits of its product with a handle
 * are a hash good enough for a table. */
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

/* Which root, as an argument, names this process: kept until the next communicator is made or
 * freed, because a new one may have the handle of an old one. Returns false where the library has
 * to be asked. */
static inline bool hk_comms_root(const struct hk_comm *comm, int32_t *ret_root)
{
	uint64_t root = atomic_load_explicit(&comm->root, memory_order_relaxed);
	*ret_root = (int32_t)root;
	return root >> 32 == atomic_load_explicit(&hk_comms_moment, memory_order_acquire);
}

/* Number of HANDLE, FIRST if it is new. CHILD, if not NULL, gets the ordinal of its next child,
 * from 1. */
uint64_t hk_comms_get(uint64_t handle, uint64_t first, uint64_t *child);

/* From now on HANDLE has number HASH and no children yet. */
void hk_comms_set(uint64_t handle, uint64_t hash);

/* Keeps the root of HANDLE, ROOT, which was asked for after MOMENT of hk_comms_moment was read.
 * Only of communicators with a number: where others are made and freed, no hook says. */
void hk_comms_keep_root(uint64_t handle, int32_t root, uint32_t moment);
void hk_comms_forget_roots(void);

#endif
