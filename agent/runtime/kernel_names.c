#include "agent/runtime/kernel_names.h"

#include <stddef.h>

#include "agent/memory/arena.h"

/* PyTorch registers 24,114 functions. Each further table has twice the room of the one before. */
#define FIRST_BITS 15u
#define TABLES 5u
#define TRIES 128u
#define MIX 0x9e3779b97f4a7c15ULL

struct name {
	uint64_t function; /* 0: free; never changes back */
	const char *text;  /* NULL: forgotten */
};

static struct table {
	struct name *names; /* NULL: not there yet */
	uint32_t used;
} tables[TABLES];

static uint32_t bits_of(uint32_t number)
{
	return FIRST_BITS + number;
}

static struct name *names_of(uint32_t number)
{
	return number < TABLES ? __atomic_load_n(&tables[number].names, __ATOMIC_ACQUIRE) : NULL;
}

static uint64_t function_of(const struct name *name)
{
	return __atomic_load_n(&name->function, __ATOMIC_ACQUIRE);
}

/* Returns the place of FUNCTION in table NUMBER, or the free place where it would be, or NULL. */
static struct name *place_of(uint32_t number, uint64_t function)
{
	struct name *names = names_of(number);
	uint64_t at = function * MIX >> (64 - bits_of(number));

	for (uint32_t i = 0; i < TRIES; i++) {
		struct name *name = &names[(at + i) & ((1u << bits_of(number)) - 1)];
		uint64_t is = function_of(name);
		if (!is || is == function) {
			return name;
		}
	}
	return NULL;
}

static struct name *find(uint64_t function)
{
	for (uint32_t i = 0; names_of(i); i++) {
		struct name *name = place_of(i, function);
		if (name && function_of(name) == function) {
			return name;
		}
	}
	return NULL;
}

/* Returns the place for FUNCTION, which has none, in the newest table, or NULL if that is full. */
static struct name *claim(uint64_t function)
{
	uint32_t newest = 0;

	while (names_of(newest + 1)) {
		newest++;
	}
	struct table *table = &tables[newest];
	if (!names_of(newest) ||
	    __atomic_load_n(&table->used, __ATOMIC_RELAXED) >= (1u << bits_of(newest)) / 4 * 3) {
		return NULL;
	}
	for (uint32_t i = 0; i < TRIES; i++) {
		struct name *name = place_of(newest, function);
		uint64_t none = 0;
		if (!name || function_of(name) == function) {
			return name;
		}
		if (__atomic_compare_exchange_n(&name->function, &none, function, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			__atomic_fetch_add(&table->used, 1, __ATOMIC_RELAXED);
			return name;
		}
	}
	return NULL;
}

bool hk_kernel_names_add(uint64_t function, const char *name)
{
	struct name *place = find(function);

	place = place || !function ? place : claim(function);
	if (place) {
		__atomic_store_n(&place->text, name, __ATOMIC_RELEASE);
	}
	return place || !function;
}

void hk_kernel_names_grow(void)
{
	uint32_t next = 0;
	struct name *none = NULL;

	while (names_of(next)) {
		next++;
	}
	struct name *names = next < TABLES ? hk_arena_take(sizeof(*names) << bits_of(next)) : NULL;
	if (names) {
		/* Another thread may have been faster. Its table serves as well. */
		__atomic_compare_exchange_n(&tables[next].names, &none, names, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
}

const char *hk_kernel_names_find(uint64_t function)
{
	const struct name *name = find(function);

	return name ? __atomic_load_n(&name->text, __ATOMIC_ACQUIRE) : NULL;
}

void hk_kernel_names_forget(struct hk_span span)
{
	for (uint32_t i = 0; names_of(i); i++) {
		struct name *names = names_of(i);
		for (uint32_t k = 0; k < 1u << bits_of(i); k++) {
			if (hk_span_holds(span, function_of(&names[k]))) {
				__atomic_store_n(&names[k].text, NULL, __ATOMIC_RELEASE);
			}
		}
	}
}
