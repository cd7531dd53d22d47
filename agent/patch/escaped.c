#include "agent/patch/escaped.h"

#include <stdatomic.h>
#include <stddef.h>

#define NAMES 256u

static _Atomic uint32_t names[NAMES]; /* hashes, 0: none */
static _Atomic uint32_t count;

bool hk_escaped_add(const char *function)
{
	uint32_t hash = 5381;
	for (; *function; function++) {
		hash = hash * 33 + (uint8_t)*function;
	}
	hash |= !hash;
	for (size_t at = 0; at < NAMES; at++) {
		uint32_t there = 0;
		if (atomic_compare_exchange_strong(&names[at], &there, hash)) {
			break;
		}
		if (there == hash) {
			return false;
		}
	}
	atomic_fetch_add(&count, 1);
	return true;
}

uint32_t hk_escaped_count(void)
{
	return atomic_load(&count);
}
