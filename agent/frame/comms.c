#include "frame/comms.h"

#include <stddef.h>

#include "record/process.h"

#define COMMS 4096u

struct comm {
	uint64_t handle;
	uint64_t hash;
	uint64_t children;
};

static struct comm comms[COMMS]; /* guarded by the process lock */

uint64_t hk_comms_mix(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

/* The entry of HANDLE, or a free one; NULL when the table is full. Under the process lock. */
static struct comm *find(uint64_t handle)
{
	uint32_t at = (uint32_t)hk_comms_mix(handle) % COMMS;
	for (uint32_t i = 0; i < COMMS; i++) {
		struct comm *comm = &comms[(at + i) % COMMS];
		if (comm->handle == handle || !comm->handle) {
			return comm;
		}
	}
	return NULL;
}

uint64_t hk_comms_get(uint64_t handle, uint64_t first, uint64_t *child)
{
	uint64_t hash = first;
	if (!handle || !hk_process_lock()) {
		return first;
	}
	struct comm *comm = find(handle);
	if (comm) {
		if (!comm->handle) {
			*comm = (struct comm){.handle = handle, .hash = first};
		}
		hash = comm->hash;
		if (child) {
			*child = ++comm->children;
		}
	}
	hk_process_unlock();
	return hash;
}

void hk_comms_set(uint64_t handle, uint64_t hash)
{
	if (!handle || !hk_process_lock()) {
		return;
	}
	struct comm *comm = find(handle);
	if (comm) {
		*comm = (struct comm){.handle = handle, .hash = hash};
	}
	hk_process_unlock();
}
