/* die_ranges.h: addresses of units or functions in debug information. Not thread-safe. */
#ifndef HK_COLLECTOR_SYMBOL_DIE_RANGES_H
#define HK_COLLECTOR_SYMBOL_DIE_RANGES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hk_die_range {
	uint64_t start, end;
	Dwarf_Die die;
};

struct hk_die_ranges {
	struct hk_die_range *ranges;
	size_t count, room;
};

/* Adds the ranges of DIE; those above a limit are left out. Returns 0 or -ENOMEM. */
int hk_die_ranges_add(struct hk_die_ranges *ranges, Dwarf_Die *die);

/* Sorts the ranges. To be called once, after the last one was added. */
void hk_die_ranges_sort(struct hk_die_ranges *ranges);

/* Returns the DIE with the last range that begins at or before ADDRESS and holds it, or NULL. */
Dwarf_Die *hk_die_ranges_find(const struct hk_die_ranges *ranges, uint64_t address);

void hk_die_ranges_fini(struct hk_die_ranges *ranges);

#endif
