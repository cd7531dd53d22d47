/* place.h: return addresses that the agent put in the place of others (frame/trampoline_stay.S). */
#ifndef HK_AGENT_STACK_PLACE_H
#define HK_AGENT_STACK_PLACE_H

#include <stdint.h>

#include "agent/record/layout.h"

extern const char hk_places[]; /* trampoline_stay.S */

/* Returns the return address of the program that ADDRESS stands for, or ADDRESS if it is one
 * itself. A place begins with the distance from itself to where the return address is. */
static inline uint64_t hk_place_caller(uint64_t address)
{
	uint64_t inside = address - (uint64_t)hk_places;

	if (inside >= (uint64_t)HK_CALLERS * HK_PLACE_BYTES) {
		return address;
	}
	const char *place = hk_places + inside / HK_PLACE_BYTES * HK_PLACE_BYTES;
	return *(const uint64_t *)(const void *)(place + *(const int64_t *)(const void *)place);
}

#endif
