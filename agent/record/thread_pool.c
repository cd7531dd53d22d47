#include "agent/record/thread_pool.h"

#include <stddef.h>
#include <sys/mman.h>

#include "agent/memory/mapping.h"
#include "agent/record/process.h"
#include "ring/kernel.h"

#define PAGE_BYTES 65536u /* a multiple of any kernel's page size */

/* Distance between the states of two threads: the part that a fork keeps. The part that a fork
 * wipes needs one page there, and no more is ever touched. */
#define STRIDE ((sizeof(struct hk_thread) - HK_THREAD_APART + 63) / 64 * 64)
#define THREADS_MAX (HK_THREAD_APART / STRIDE) /* the two parts of a group must not overlap */
static_assert(THREADS_MAX > 0, "a group has a thread");

#define FAR_BYTES (64ull << 20)
#define FARTHEST_BYTES (16ull << 30)

/* Unused states of the newest group. */
static struct {
	char *next;
	uint32_t left;
	uint32_t taken; /* states taken from all groups */
} pool;

/* Makes two mappings of BYTES, HK_THREAD_APART from each other, the second one at or near HINT.
 * Returns the first one, or NULL. *ret_tried is the address of the second one. */
static char *map_near(uint64_t hint, uint64_t bytes, uint64_t *ret_tried)
{
	char *kept = hk_mapping_make(hint, bytes, PROT_READ | PROT_WRITE);
	char *wiped =
	    kept ? hk_mapping_make((uint64_t)kept - HK_THREAD_APART, bytes, PROT_READ | PROT_WRITE)
		 : NULL;
	*ret_tried = (uint64_t)kept;
	if (wiped && wiped + HK_THREAD_APART == kept) {
		return wiped;
	}
	hk_mapping_remove(kept, bytes);
	hk_mapping_remove(wiped, bytes);
	return NULL;
}

/* Makes two such mappings anywhere. Usually the addresses below a new mapping are free, or
 * addresses far below. Otherwise both are cut out of one mapping that spans them, if the process
 * may have that much. */
static char *map_apart(uint64_t bytes)
{
	uint64_t tried;
	char *near = map_near(0, bytes, &tried);
	for (uint64_t below = FAR_BYTES; !near && tried && below <= FARTHEST_BYTES; below *= 4) {
		uint64_t start = tried;
		near = map_near(start > below ? start - below : 0, bytes, &tried);
	}
	if (near) {
		return near;
	}
	char *span = hk_mapping_make(0, HK_THREAD_APART + bytes, PROT_NONE);
	if (!span) {
		return NULL;
	}
	if (bytes < HK_THREAD_APART) {
		hk_mapping_remove(span + bytes, HK_THREAD_APART - bytes);
	}
	if (hk_kernel(SYS_mprotect, span, bytes, PROT_READ | PROT_WRITE, 0, 0, 0) < 0 ||
	    hk_kernel(SYS_mprotect, span + HK_THREAD_APART, bytes, PROT_READ | PROT_WRITE, 0, 0,
		      0) < 0) {
		hk_mapping_remove(span, bytes);
		hk_mapping_remove(span + HK_THREAD_APART, bytes);
		return NULL;
	}
	return span;
}

/* Doubles the states: few threads take little memory, many threads few mappings. */
static bool grow(void)
{
	uint32_t count = pool.taken < 1 ? 1 : pool.taken;
	count = count < THREADS_MAX ? count : (uint32_t)THREADS_MAX;
	uint64_t bytes = (count * STRIDE + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	bytes = bytes < HK_THREAD_APART ? bytes : HK_THREAD_APART;
	char *group = hk_process.sealed ? NULL : map_apart(bytes);
	if (!group) {
		return false;
	}
	if (!hk_mapping_wipe_on_fork(group, bytes)) {
		hk_mapping_remove(group, bytes);
		hk_mapping_remove(group + HK_THREAD_APART, bytes);
		return false;
	}
	if (hk_process.locks) {
		/* The limit of locked memory belongs to the host. */
		hk_kernel(SYS_munlock, group, bytes, 0, 0, 0, 0);
		hk_kernel(SYS_munlock, group + HK_THREAD_APART, bytes, 0, 0, 0, 0);
	}
	pool.next = group;
	pool.left = count;
	return true;
}

struct hk_thread *hk_thread_pool_take(void)
{
	if (!pool.left && !grow()) {
		return NULL;
	}
	struct hk_thread *thread = (struct hk_thread *)(void *)pool.next;
	pool.next += STRIDE;
	pool.left--;
	pool.taken++;
	return thread;
}

void hk_thread_pool_return(struct hk_thread *thread)
{
	pool.next = (char *)thread;
	pool.left++;
	pool.taken--;
}
