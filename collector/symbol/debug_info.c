#include "collector/symbol/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "collector/symbol/die_ranges.h"

#define DEPTH_MOST 256u	 /* nested scopes */
#define UNITS_MOST 4096u /* units whose functions are kept */

/* The functions of a unit in which an address was looked up. */
struct unit {
	UT_hash_handle hh;
	void *key; /* its CU */
	struct hk_die_ranges functions;
};

struct hk_debug_info {
	Dwarf *dwarf;
	/* A compiler may leave .debug_aranges out, so they are read from the units themselves. */
	struct hk_die_ranges ranges;
	struct unit *units;
};

/* ---- units ---- */

static int add_units(struct hk_debug_info *info)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	int r = 0;

	while (r == 0 && dwarf_get_units(info->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
		r = hk_die_ranges_add(&info->ranges, &die);
	}
	hk_die_ranges_sort(&info->ranges);
	return r;
}

static void drop_units(struct hk_debug_info *info)
{
	struct unit *unit, *next;

	HASH_ITER (hh, info->units, unit, next) {
		HASH_DEL(info->units, unit);
		hk_die_ranges_fini(&unit->functions);
		free(unit);
	}
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
	if (r == 0 && info->ranges.count == 0) {
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
		drop_units(info);
		hk_die_ranges_fini(&info->ranges);
		dwarf_end(info->dwarf);
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
static void find_call(Dwarf_Die *function, const char **ret_file, uint32_t *ret_line)
{
	Dwarf_Die unit;
	Dwarf_Files *files;
	size_t count;

	*ret_file = dwarf_diecu(function, &unit, NULL, NULL) &&
			    dwarf_getsrcfiles(&unit, &files, &count) == 0
			? dwarf_filesrc(files, number_of(function, DW_AT_call_file), NULL, NULL)
			: NULL;
	*ret_line = number_of(function, DW_AT_call_line);
}

/* Adds a place, whose FILE may be relative to the directory in which UNIT was compiled. */
static void add_place(Dwarf_Die *unit, const char *function, const char *file, uint32_t line,
		      struct hk_places *places)
{
	Dwarf_Attribute attribute;
	char path[PATH_MAX];
	const char *directory =
	    file && *file && *file != '/' && dwarf_attr(unit, DW_AT_comp_dir, &attribute)
		? dwarf_formstring(&attribute)
		: NULL;

	if (directory && snprintf(path, sizeof(path), "%s/%s", directory,
				  strncmp(file, "./", 2) == 0 ? file + 2 : file) < PATH_MAX) {
		file = path;
	}
	hk_places_add(places, function, file, line);
}

/* ---- scopes ---- */

/* Returns whether an entry with TAG may contain functions. */
static bool may_hold_functions(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_namespace || tag == DW_TAG_module ||
	       tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
}

/* Adds the functions below PARENT that have code. libdw's own search finds none in a namespace. */
static int add_functions(struct hk_die_ranges *functions, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die child;
	int r = 0;

	if (depth >= DEPTH_MOST || dwarf_child(parent, &child) != 0) {
		return 0;
	}
	do {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_subprogram) {
			r = hk_die_ranges_add(functions, &child);
		}
		if (r == 0 && may_hold_functions(tag)) {
			r = add_functions(functions, &child, depth + 1);
		}
	} while (r == 0 && dwarf_siblingof(&child, &child) == 0);
	return r;
}

/* Returns the functions of the unit with DIE, or NULL without memory. */
static const struct hk_die_ranges *functions_of(struct hk_debug_info *info, Dwarf_Die *die)
{
	void *key = die->cu;
	struct unit *unit;
	Dwarf_Die split;
	uint8_t type;

	HASH_FIND_PTR(info->units, &key, unit);
	if (unit) {
		return &unit->functions;
	}
	if (HASH_COUNT(info->units) >= UNITS_MOST) {
		drop_units(info);
	}
	unit = calloc(1, sizeof(*unit));
	if (!unit) {
		return NULL;
	}
	/* The entries in a .dwo file are used if that is still there. */
	bool apart = dwarf_cu_info(die->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
		     type == DW_UT_skeleton && dwarf_tag(&split) == DW_TAG_compile_unit;
	unit->key = key;
	add_functions(&unit->functions, apart ? &split : die, 0);
	hk_die_ranges_sort(&unit->functions);
	HASH_ADD_PTR(info->units, key, unit);
	return &unit->functions;
}

/* The functions that were inlined at an address, outermost first. */
struct inlines {
	Dwarf_Die die[DEPTH_MOST];
	size_t count;
};

/* Adds the scopes below PARENT that hold ADDRESS. Returns whether there are any. */
static bool find_inlines(Dwarf_Die *parent, uint64_t address, struct inlines *inlines,
			 unsigned depth)
{
	Dwarf_Die child;

	if (depth >= DEPTH_MOST || dwarf_child(parent, &child) != 0) {
		return false;
	}
	do {
		int tag = dwarf_tag(&child);
		bool inlined = tag == DW_TAG_inlined_subroutine;
		if (!inlined && tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
		    tag != DW_TAG_catch_block) {
			continue;
		}
		int holds = dwarf_haspc(&child, address);
		if (holds > 0 && inlined) {
			inlines->die[inlines->count++] = child;
		}
		/* A block without addresses may contain blocks with addresses. */
		bool found = holds != 0 && find_inlines(&child, address, inlines, depth + 1);
		if (holds > 0 || found) {
			return true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

void hk_debug_info_find(struct hk_debug_info *info, uint64_t address, struct hk_places *places)
{
	Dwarf_Die *unit = hk_die_ranges_find(&info->ranges, address);
	const struct hk_die_ranges *functions = unit ? functions_of(info, unit) : NULL;
	struct inlines inlines = {.count = 0};
	int number = 0;

	if (!functions) {
		return;
	}
	Dwarf_Die *own = hk_die_ranges_find(functions, address);
	Dwarf_Line *found = dwarf_getsrc_die(unit, address);
	const char *file = found ? dwarf_linesrc(found, NULL, NULL) : NULL;
	if (found) {
		dwarf_lineno(found, &number);
	}
	uint32_t line = number > 0 ? (uint32_t)number : 0;
	if (own) {
		find_inlines(own, address, &inlines, 0);
	}
	for (size_t i = inlines.count; i-- > 0;) {
		add_place(unit, name_of(&inlines.die[i]), file, line, places);
		find_call(&inlines.die[i], &file, &line);
	}
	/* In assembly no function contains the address. */
	add_place(unit, own ? name_of(own) : NULL, file, line, places);
}
