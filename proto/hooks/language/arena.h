/* arena.h: the memory a hooks file is parsed into. The caller gives one block (a static buffer, or
 * mmap'd pages inside the agent). Hooks grow from its start, texts from its end, so that the hooks
 * of one file stay one array without a first pass. Single items are never freed: the owner of the
 * block drops it as a whole, with every hk_hook_file parsed into it. One thread at a time. */
#ifndef HK_HOOKS_LANGUAGE_ARENA_H
#define HK_HOOKS_LANGUAGE_ARENA_H

#include <stddef.h>

#include "hooks/hook.h"

/* Enough for the largest shipped file three times over. */
#define HK_HOOK_ARENA_BYTES ((size_t)4 << 20)

struct hk_hook_arena {
	char *base;
	size_t size;
	size_t used;	 /* bytes taken from the start: hooks */
	size_t used_end; /* bytes taken from the end: texts */
};

/* Starts an empty arena over `size` bytes at `base`, which stay the caller's and must outlive every
 * use. */
void hk_hook_arena_init(struct hk_hook_arena *arena, void *base, size_t size);

/* Next uninitialised hook, adjacent to the previous one; NULL if the arena is full. */
struct hk_hook *hk_hook_arena_hook(struct hk_hook_arena *arena);

/* NUL-terminated concatenation of two texts, owned by the arena; NULL if the arena is full. */
char *hk_hook_arena_join(struct hk_hook_arena *arena, const char *first, size_t first_length,
			 const char *second, size_t second_length);

#endif
