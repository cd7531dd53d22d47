#include "agent/patch/left.h"

#include <stddef.h>
#include <stdint.h>

#include "agent/memory/arena.h"

#define LEFT_FIRST 256u

/* Addresses that stay in slots unchanged: a set with open addressing. */
static struct {
	const void **at;
	size_t count, room; /* room: a power of two, or 0 */
} left;

static size_t place_of(const void *address)
{
	size_t at = (uintptr_t)address * 0x9e3779b97f4a7c15u >> 32 & (left.room - 1);
	while (left.at[at] && left.at[at] != address) {
		at = (at + 1) & (left.room - 1);
	}
	return at;
}

bool hk_left_has(const void *address)
{
	return left.room && left.at[place_of(address)];
}

static bool grow(void)
{
	size_t old_room = left.room;
	const void **old = left.at;
	size_t room = old_room ? old_room * 4 : LEFT_FIRST;
	const void **larger = hk_arena_take(room * sizeof(*larger));
	if (!larger) {
		return false;
	}
	left.at = larger;
	left.room = room;
	for (size_t i = 0; i < old_room; i++) {
		if (old[i]) {
			larger[place_of(old[i])] = old[i];
		}
	}
	return true;
}

void hk_left_add(const void *address)
{
	if (hk_left_has(address) || (left.count * 2 >= left.room && !grow())) {
		return;
	}
	left.at[place_of(address)] = address;
	left.count++;
}

/* Displaced addresses after the hole are moved back. */
static void remove_at(size_t hole)
{
	left.at[hole] = NULL;
	left.count--;
	size_t at = (hole + 1) & (left.room - 1);
	for (; left.at[at]; at = (at + 1) & (left.room - 1)) {
		const void *address = left.at[at];
		left.at[at] = NULL;
		left.at[place_of(address)] = address;
	}
}

void hk_left_forget(struct hk_span span)
{
	for (size_t at = 0; at < left.room; at++) {
		while (left.at[at] && hk_span_holds(span, (uintptr_t)left.at[at])) {
			remove_at(at);
		}
	}
}
