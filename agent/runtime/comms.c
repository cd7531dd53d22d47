#include "agent/runtime/comms.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/record/process.h"

struct hk_comm hk_comms[HK_COMMS];
_Atomic uint32_t hk_comms_moment = 1;

uint64_t hk_comms_mix(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

/* Returns the entry of HANDLE, or a free one, or NULL if the table is full. */
static struct hk_comm *find(uint64_t handle)
{
	uint32_t at = (uint32_t)(handle * HK_COMMS_SPREAD >> 32) % HK_COMMS;
	for (uint32_t i = 0; i < HK_COMMS; i++) {
		struct hk_comm *comm = &hk_comms[(at + i) % HK_COMMS];
		uint64_t known = atomic_load_explicit(&comm->handle, memory_order_acquire);
		if (known == handle || !known) {
			return comm;
		}
	}
	return NULL;
}

/* Locks the process with signals blocked: a handler that jumped away would leave it locked. Returns
 * false if that failed. */
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

static void fill(struct hk_comm *comm, uint64_t handle, uint64_t hash)
{
	comm->children = 0;
	atomic_store_explicit(&comm->hash, hash, memory_order_relaxed);
	atomic_store_explicit(&comm->handle, handle, memory_order_release);
}

const struct hk_comm *hk_comms_known(uint64_t handle)
{
	const struct hk_comm *comm = handle ? find(handle) : NULL;
	bool has = comm && atomic_load_explicit(&comm->handle, memory_order_relaxed) == handle;
	return has ? comm : NULL;
}

uint64_t hk_comms_get(uint64_t handle, uint64_t first, uint64_t *child)
{
	uint64_t hash = first, signals;
	struct hk_comm *comm = handle ? find(handle) : NULL;
	if (comm && comm->handle == handle && !child) {
		return atomic_load_explicit(&comm->hash, memory_order_relaxed);
	}
	if (!comm || !lock(&signals)) {
		return first;
	}
	comm = find(handle); /* searched again: it may have been made meanwhile */
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
	struct hk_comm *comm = find(handle);
	if (comm) {
		fill(comm, handle, hash);
	}
	unlock(signals);
}

void hk_comms_keep_root(uint64_t handle, int32_t root, uint32_t moment)
{
	struct hk_comm *comm = handle ? find(handle) : NULL;
	if (comm && atomic_load_explicit(&comm->handle, memory_order_relaxed) == handle &&
	    atomic_load_explicit(&comm->hash, memory_order_relaxed)) {
		atomic_store_explicit(&comm->root, (uint64_t)moment << 32 | (uint32_t)root,
				      memory_order_relaxed);
	}
}

void hk_comms_forget_roots(void)
{
	atomic_fetch_add_explicit(&hk_comms_moment, 1, memory_order_release);
}
