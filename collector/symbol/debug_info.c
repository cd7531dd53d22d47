#include "collector/symbol/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define RANGES_MOST (4u << 20)

/* Addresses of a compilation unit. A compiler may leave .debug_aranges out, so they are read from
 * the units themselves. */
struct range {
	uint64_t start, end;
	Dwarf_Off unit; /* offset of its DIE */
};

struct hk_debug_info {
	Dwarf *dwarf;
	struct range *ranges; /* by start */
	size_t count, room;
};

/* ---- units ---- */

static int add_range(struct hk_debug_info *info, uint64_t start, uint64_t end, Dwarf_Off unit)
{
	if (start >= end || info->count >= RANGES_MOST) {
		return 0;
	}
	if (info->count == info->room) {
		size_t room = info->room ? 2 * info->room : 256;
		struct range *ranges = reallocarray(info->ranges, room, sizeof(*ranges));
		if (!ranges) {
			return -ENOMEM;
		}
		info->ranges = ranges;
		info->room = room;
	}
	info->ranges[info->count++] = (struct range){start, end, unit};
	return 0;
}

static int add_unit(struct hk_debug_info *info, Dwarf_Die *unit)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int r = 0;

	while (r == 0 && (at = dwarf_ranges(unit, at, &base, &start, &end)) > 0) {
		r = add_range(info, start, end, dwarf_dieoffset(unit));
	}
	return r;
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int add_units(struct hk_debug_info *info)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	int r = 0;

	while (r == 0 && dwarf_get_units(info->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
		r = add_unit(info, &die);
	}
	if (info->count > 1) {
		qsort(info->ranges, info->count, sizeof(*info->ranges), by_start);
	}
	return r;
}

static bool find_unit(const struct hk_debug_info *info, uint64_t address, Dwarf_Die *ret_unit)
{
	size_t low = 0, high = info->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (info->ranges[middle].start <= address) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low > 0 && address < info->ranges[low - 1].end &&
	       dwarf_offdie(info->dwarf, info->ranges[low - 1].unit, ret_unit);
}

bool hk_debug_info_is_in(const struct hk_elf *file)
{
	Dwarf *dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	Dwarf_CU *unit;
	bool any = dwarf && dwarf_get_units(dwarf, NULL, &unit, NULL, NULL, NULL, NULL) == 0;

	dwarf_end(dwarf);
	return any;
}

int hk_debug_info_open(const struct hk_elf *file, struct hk_debug_info **ret_info)
{
	struct hk_debug_info *info = calloc(1, sizeof(*info));

	if (!info) {
		return -ENOMEM;
	}
	info->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	int r = info->dwarf ? add_units(info) : -ENOENT;
	if (r == 0 && info->count == 0) {
		r = -ENOENT;
	}
	if (r < 0) {
		hk_debug_info_free(info);
		return r;
	}
	*ret_info = info;
	return 0;
}

struct hk_debug_info *hk_debug_info_free(struct hk_debug_info *info)
{
	if (info) {
		dwarf_end(info->dwarf);
		free(info->ranges);
		free(info);
	}
	return NULL;
}

/* ---- functions ---- */

/* Returns the name that the linker knows, else the name in the source, or NULL. */
static const char *name_of(Dwarf_Die *function)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *name = dwarf_attr_integrate(function, names[i], &attribute)
				       ? dwarf_formstring(&attribute)
				       : NULL;
		if (name) {
			return name;
		}
	}
	return NULL;
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0 &&
		       value <= UINT32_MAX
		   ? (uint32_t)value
		   : 0;
}

/* Sets *ret_file and *ret_line to where the inlined FUNCTION was called. */
static void find_call(Dwarf_Die *unit, Dwarf_Die *function, const char **ret_file,
		      uint32_t *ret_line)
{
	Dwarf_Files *files;
	size_t count;

	*ret_file = dwarf_getsrcfiles(unit, &files, &count) == 0
			? dwarf_filesrc(files, number_of(function, DW_AT_call_file), NULL, NULL)
			: NULL;
	*ret_line = number_of(function, DW_AT_call_line);
}

static void add_functions(Dwarf_Die *unit, Dwarf_Die *scopes, int count, uint64_t address,
			  struct hk_places *places)
{
	Dwarf_Line *found = dwarf_getsrc_die(unit, address);
	const char *file = found ? dwarf_linesrc(found, NULL, NULL) : NULL;
	int line = 0;

	if (found) {
		dwarf_lineno(found, &line);
	}
	uint32_t at = line > 0 ? (uint32_t)line : 0;
	for (int i = 0; i < count; i++) {
		int tag = dwarf_tag(&scopes[i]);
		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
			hk_places_add(places, name_of(&scopes[i]), file, at);
		}
		if (tag == DW_TAG_subprogram) {
			return;
		}
		if (tag == DW_TAG_inlined_subroutine) {
			find_call(unit, &scopes[i], &file, &at);
		}
	}
	/* No function holds the address, as in assembly. */
	hk_places_add(places, NULL, file, at);
}

void hk_debug_info_find(const struct hk_debug_info *info, uint64_t address,
			struct hk_places *places)
{
	Dwarf_Die unit, *scopes = NULL, *concrete = NULL;

	if (!find_unit(info, address, &unit)) {
		return;
	}
	int count = dwarf_getscopes(&unit, address, &scopes);
	/* Behind an inlined function come the scopes of its definition. Those where it was inlined
	 * are wanted. */
	int around = count > 0 ? dwarf_getscopes_die(&scopes[0], &concrete) : 0;
	if (around > 0) {
		add_functions(&unit, concrete, around, address, places);
	} else {
		add_functions(&unit, NULL, 0, address, places);
	}
	free(concrete);
	free(scopes);
}
