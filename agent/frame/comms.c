#include "frame/comms.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "record/process.h"

#define COMMS 4096u

struct comm {
	_Atomic uint64_t handle; /* 0: free; set once, after the rest */
	_Atomic uint64_t hash;
	uint64_t children;
};

static struct comm comms[COMMS]; /* written under the process lock */

uint64_t hk_comms_mix(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

/* The entry of HANDLE, or a free one; NULL when the table is full. */
static __attribute__((noinline)) struct comm *find(uint64_t handle)
{
	uint32_t at = (uint32_t)(handle * HK_COMMS_SPREAD >> 32) % COMMS;
	for (uint32_t i = 0; i < COMMS; i++) {
		struct comm *comm = &comms[(at + i) % COMMS];
		uint64_t known = atomic_load_explicit(&comm->handle, memory_order_acquire);
		if (known == handle || !known) {
			return comm;
		}
	}
	return NULL;
}

/* Handlers wait: one that jumped away would leave the process locked. False: not locked. */
static bool lock(uint64_t *ret_signals)
{
	*ret_signals = hk_process_block_signals();
	if (!hk_process_lock()) {
		hk_process_restore_signals(*ret_signals);
		return false;
	}
	return true;
}

static void unlock(uint64_t signals)
{
	hk_process_unlock();
	hk_process_restore_signals(signals);
}

static void fill(struct comm *comm, uint64_t handle, uint64_t hash)
{
	comm->children = 0;
	atomic_store_explicit(&comm->hash, hash, memory_order_relaxed);
	atomic_store_explicit(&comm->handle, handle, memory_order_release);
}

bool hk_comms_known(uint64_t handle, uint64_t *ret_hash)
{
	const struct comm *comm = &comms[(uint32_t)(handle * HK_COMMS_SPREAD >> 32) % COMMS];
	if (atomic_load_explicit(&comm->handle, memory_order_acquire) != handle) {
		comm = find(handle);
	}
	if (!handle || !comm ||
	    atomic_load_explicit(&comm->handle, memory_order_relaxed) != handle) {
		return false;
	}
	*ret_hash = atomic_load_explicit(&comm->hash, memory_order_relaxed);
	return true;
}

uint64_t hk_comms_get(uint64_t handle, uint64_t first, uint64_t *child)
{
	uint64_t hash = first, signals;
	struct comm *comm = handle ? find(handle) : NULL;
	if (comm && comm->handle == handle && !child) {
		return atomic_load_explicit(&comm->hash, memory_order_relaxed);
	}
	if (!comm || !lock(&signals)) {
		return first;
	}
	comm = find(handle); /* again: it may have been made meanwhile */
	if (comm) {
		if (!comm->handle) {
			fill(comm, handle, first);
		}
		hash = comm->hash;
		if (child) {
			*child = ++comm->children;
		}
	}
	unlock(signals);
	return hash;
}

void hk_comms_set(uint64_t handle, uint64_t hash)
{
	uint64_t signals;
	if (!handle || !lock(&signals)) {
		return;
	}
	struct comm *comm = find(handle);
	if (comm) {
		fill(comm, handle, hash);
	}
	unlock(signals);
}
