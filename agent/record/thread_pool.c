#include "agent/record/thread_pool.h"

#include <stddef.h>
#include <sys/mman.h>

#include "agent/record/process.h"
#include "agent/record/thread.h"
#include "ring/kernel.h"

#define PAGE_BYTES 65536u /* a multiple of the kernel's, of whatever size */

/* From one thread's state to the next: what is kept of it. What is wiped takes a page there, and no
 * more than that is ever touched. */
#define STRIDE ((sizeof(struct hk_thread) - HK_THREAD_APART + 63) / 64 * 64)
#define THREADS_MAX (HK_THREAD_APART / STRIDE) /* of a group: the two parts must not overlap */
static_assert(THREADS_MAX > 0, "a group has a thread");

#define FAR_BYTES (64ull << 20)
#define FARTHEST_BYTES (16ull << 30)

/* States that nobody has yet, of the newest group. */
static struct {
	char *next;
	uint32_t left;
	uint32_t taken; /* of all groups */
} pool;

/* At or near HINT, which may be 0. */
static char *map(uint64_t hint, uint64_t bytes, int protection)
{
	long address = hk_kernel(SYS_mmap, hint, bytes, protection,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return address < 0 && address > -4096 ? NULL : (char *)address;
}

static void unmap(char *memory, uint64_t bytes)
{
	if (memory) {
		hk_kernel(SYS_munmap, memory, bytes, 0, 0, 0, 0);
	}
}

static bool wipe_on_fork(char *memory, uint64_t bytes)
{
	return hk_kernel(SYS_madvise, memory, bytes, MADV_WIPEONFORK, 0, 0, 0) == 0;
}

void *hk_memory_private(uint64_t bytes)
{
	char *memory = hk_process.sealed ? NULL : map(0, bytes, PROT_READ | PROT_WRITE);
	if (memory && !wipe_on_fork(memory, bytes)) {
		unmap(memory, bytes);
		memory = NULL;
	}
	return memory;
}

/* Two mappings of BYTES, HK_THREAD_APART from each other, the second one at or near HINT: the first
 * one, or NULL. *ret_tried is where the second one was. */
static char *map_near(uint64_t hint, uint64_t bytes, uint64_t *ret_tried)
{
	char *kept = map(hint, bytes, PROT_READ | PROT_WRITE);
	char *wiped =
	    kept ? map((uint64_t)kept - HK_THREAD_APART, bytes, PROT_READ | PROT_WRITE) : NULL;
	*ret_tried = (uint64_t)kept;
	if (wiped && wiped + HK_THREAD_APART == kept) {
		return wiped;
	}
	unmap(kept, bytes);
	unmap(wiped, bytes);
	return NULL;
}

/* Mostly the place below a new mapping is free, or a place far below. Else both are cut out of one
 * mapping that takes all between them, as far as the process may have that much. */
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
	char *span = map(0, HK_THREAD_APART + bytes, PROT_NONE);
	if (!span) {
		return NULL;
	}
	if (bytes < HK_THREAD_APART) {
		unmap(span + bytes, HK_THREAD_APART - bytes);
	}
	if (hk_kernel(SYS_mprotect, span, bytes, PROT_READ | PROT_WRITE, 0, 0, 0) < 0 ||
	    hk_kernel(SYS_mprotect, span + HK_THREAD_APART, bytes, PROT_READ | PROT_WRITE, 0, 0,
		      0) < 0) {
		unmap(span, bytes);
		unmap(span + HK_THREAD_APART, bytes);
		return NULL;
	}
	return span;
}

/* As many as there were before: few threads take little, many take few mappings. */
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
	if (!wipe_on_fork(group, bytes)) {
		unmap(group, bytes);
		unmap(group + HK_THREAD_APART, bytes);
		return false;
	}
	if (hk_process.locks) {
		/* What the process may lock is the host's. */
		hk_kernel(SYS_munlock, group, bytes, 0, 0, 0, 0);
		hk_kernel(SYS_munlock, group + HK_THREAD_APART, bytes, 0, 0, 0, 0);
	}
	pool.next = group;
	pool.left = count;
	return true;
}

struct hk_thread *hk_memory_take_thread(void)
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

void hk_memory_return_thread(struct hk_thread *thread)
{
	pool.next = (char *)thread;
	pool.left++;
	pool.taken--;
}
