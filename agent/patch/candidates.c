#include "agent/patch/candidates.h"

#include <string.h>

#include "agent/memory/arena.h"

#define ROOM_FIRST 256u

bool hk_candidates_add(struct hk_candidates *candidates, size_t *count, const struct hk_slot *slot)
{
	if (*count == candidates->room) {
		size_t room = *count ? *count * 2 : ROOM_FIRST;
		struct hk_slot *larger = hk_arena_take(room * sizeof(*larger));
		if (!larger) {
			return false;
		}
		if (*count) {
			memcpy(larger, candidates->slots, *count * sizeof(*larger));
		}
		candidates->slots = larger;
		candidates->room = room;
	}
	candidates->slots[(*count)++] = *slot;
	return true;
}
