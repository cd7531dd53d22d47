/* candidates.h: the slots of one object that a scan may patch. Memory is the arena's. Under the
 * loader's lock. */
#ifndef HK_AGENT_PATCH_CANDIDATES_H
#define HK_AGENT_PATCH_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/object/slot.h"

struct hk_candidates {
	struct hk_slot *slots;
	size_t room;
};

/* Stores SLOT at number *COUNT, and raises that. Returns false without memory. */
bool hk_candidates_add(struct hk_candidates *candidates, size_t *count, const struct hk_slot *slot);

#endif
