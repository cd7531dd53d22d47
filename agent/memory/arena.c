#include "agent/memory/arena.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "ring/kernel.h"

#define CHUNK_BYTES (256u * 1024u)

/* The current chunk. If two threads find it full at once, both map a new one, and the rest of one
 * is wasted. */
struct chunk {
	_Atomic size_t used;
};
static struct chunk *_Atomic current;

static void *map(size_t bytes)
{
	long address = hk_kernel(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return address < 0 && address > -4096 ? NULL : (void *)address;
}

void *hk_arena_take(size_t bytes)
{
	bytes = (bytes + 63) & ~(size_t)63;
	if (bytes > HK_ARENA_SHARED_MOST) {
		return map(bytes);
	}
	struct chunk *chunk = atomic_load(&current);
	if (chunk) {
		size_t at = atomic_fetch_add(&chunk->used, bytes);
		if (at + bytes <= CHUNK_BYTES) {
			return (char *)chunk + at;
		}
	}
	chunk = map(CHUNK_BYTES);
	if (!chunk) {
		return NULL;
	}
	atomic_store(&chunk->used, 64 + bytes);
	atomic_store(&current, chunk);
	return (char *)chunk + 64;
}

void hk_arena_give(void *memory, size_t bytes)
{
	hk_kernel(SYS_munmap, (long)memory, (bytes + 63) & ~(size_t)63, 0, 0, 0, 0);
}

const char *hk_arena_text(const char *text)
{
	size_t length = 0;
	while (text[length]) {
		length++;
	}
	char *copy = hk_arena_take(length + 1);
	if (copy) {
		for (size_t i = 0; i <= length; i++) {
			copy[i] = text[i];
		}
	}
	return copy;
}
