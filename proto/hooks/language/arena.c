#include "hooks/language/arena.h"

#include <stdint.h>
#include <string.h>

void hk_hook_arena_init(struct hk_hook_arena *arena, void *base, size_t size)
{
	size_t skip = -(uintptr_t)base & (_Alignof(struct hk_hook) - 1);

	*arena = (struct hk_hook_arena){.base = base};
	if (size > skip) {
		arena->base += skip;
		arena->size = size - skip;
	}
}

static size_t available(const struct hk_hook_arena *arena)
{
	return arena->size - arena->used - arena->used_end;
}

struct hk_hook *hk_hook_arena_hook(struct hk_hook_arena *arena)
{
	if (available(arena) < sizeof(struct hk_hook)) {
		return NULL;
	}
	struct hk_hook *hook = (struct hk_hook *)(void *)(arena->base + arena->used);
	arena->used += sizeof(*hook);
	return hook;
}

char *hk_hook_arena_join(struct hk_hook_arena *arena, const char *first, size_t first_length,
			 const char *second, size_t second_length)
{
	size_t length;

	if (__builtin_add_overflow(first_length, second_length, &length) ||
	    available(arena) <= length) {
		return NULL;
	}
	arena->used_end += length + 1;
	char *text = arena->base + arena->size - arena->used_end;
	memcpy(text, first, first_length);
	memcpy(text + first_length, second, second_length);
	text[length] = '\0';
	return text;
}
