/* A child is safe when its parent had one thread only, or once the list of objects has changed:
 * whoever changed it had the lock. The list is read through the kernel, because it may change
 * meanwhile. */
#include "patch/loader.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "frame/state.h"
#include "patch/find.h"
#include "record/process.h"
#include "ring/kernel.h"

#define OBJECTS_MAX 65536u

/* Wiped in a forked child. */
struct state {
	_Atomic uint32_t free; /* the lock is known not to be held by a thread that is not there */
	_Atomic uint64_t list; /* the list of objects at the first look */
};

/* The last object of the list when it was remembered. */
struct tail {
	struct link_map *_Atomic at;
	_Atomic uintptr_t base, dynamic, name;
};

static struct state *state;
static struct tail tail;
static _Atomic uint64_t unloads;
static const struct r_debug *debug;
static const char *single_threaded; /* glibc's variable, where there is one */

/* From the program's dynamic section: a variable _r_debug of the program may be a stale copy. */
static int find_debug(struct dl_phdr_info *program, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (int i = 0; i < program->dlpi_phnum; i++) {
		if (program->dlpi_phdr[i].p_type != PT_DYNAMIC) {
			continue;
		}
		const ElfW(Dyn) *entry =
		    (const void *)(program->dlpi_addr + program->dlpi_phdr[i].p_vaddr);
		for (; entry->d_tag != DT_NULL; entry++) {
			if (entry->d_tag == DT_DEBUG) {
				debug = (const void *)entry->d_un.d_ptr;
			}
		}
	}
	return 1;
}

void hk_loader_setup(void)
{
	state = hk_process_private_memory(sizeof(*state));
	if (state) {
		atomic_store_explicit(&state->free, 1, memory_order_relaxed);
	}
	dl_iterate_phdr(find_debug, NULL);
	single_threaded = hk_find_variable("__libc_single_threaded");
}

static bool read_map(const struct link_map *from, struct link_map *to)
{
	struct iovec here = {to, sizeof(*to)};
	struct iovec there = {(void *)from, sizeof(*to)};
	long self = hk_kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);
	return hk_kernel(SYS_process_vm_readv, self, &here, 1, &there, 1, 0) == (long)sizeof(*to);
}

/* A number that changes with the list; never 0. */
static uint64_t read_list(void)
{
	const struct link_map *at = debug ? debug->r_map : NULL;
	uint64_t sum = 1;
	struct link_map map;
	for (uint32_t i = 0; at && i < OBJECTS_MAX && read_map(at, &map); i++) {
		sum = sum * 31 + (uintptr_t)at + (uintptr_t)map.l_ld;
		at = map.l_next;
	}
	return sum ? sum : 1;
}

static bool lock_is_free(void)
{
	if (!state || atomic_load_explicit(&state->free, memory_order_relaxed)) {
		return true;
	}
	bool free = single_threaded && *single_threaded;
	if (!free) {
		uint64_t list = read_list(), before = 0;
		free =
		    !atomic_compare_exchange_strong(&state->list, &before, list) && before != list;
	}
	if (free) {
		atomic_store_explicit(&state->free, 1, memory_order_relaxed);
	}
	return free;
}

int hk_loader_iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	return !hk_process.sealed && lock_is_free() ? dl_iterate_phdr(callback, data) : 0;
}

uint64_t hk_loader_unloads(void)
{
	return atomic_load_explicit(&unloads, memory_order_acquire);
}

void hk_loader_note_unload(void)
{
	atomic_fetch_add_explicit(&unloads, 1, memory_order_release);
}

void hk_loader_remember(void)
{
	struct link_map *at = debug ? debug->r_map : NULL;
	while (at && at->l_next) {
		at = at->l_next;
	}
	if (at) {
		atomic_store_explicit(&tail.base, at->l_addr, memory_order_relaxed);
		atomic_store_explicit(&tail.dynamic, (uintptr_t)at->l_ld, memory_order_relaxed);
		atomic_store_explicit(&tail.name, (uintptr_t)at->l_name, memory_order_relaxed);
	}
	atomic_store_explicit(&tail.at, at, memory_order_release);
}

/* Its memory may have been given back. */
static bool is_there(const struct link_map *map)
{
	const char *last = (const char *)(map + 1) - 1;
	return hk_state_is_readable((uintptr_t)map) && hk_state_is_readable((uintptr_t)last);
}

bool hk_loader_unchanged(void)
{
	const struct link_map *at = atomic_load_explicit(&tail.at, memory_order_acquire);
	/* In a child the first look counts, whatever comes of it. */
	if (!at || hk_process.sealed || !lock_is_free() || !is_there(at)) {
		return false;
	}
	return !__atomic_load_n(&at->l_next, __ATOMIC_RELAXED) &&
	       at->l_addr == atomic_load_explicit(&tail.base, memory_order_relaxed) &&
	       (uintptr_t)at->l_ld == atomic_load_explicit(&tail.dynamic, memory_order_relaxed) &&
	       (uintptr_t)at->l_name == atomic_load_explicit(&tail.name, memory_order_relaxed);
}
