#include "agent/object/version.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define INDEX_MASK 0x7fffu
#define HIDDEN 0x8000u
/* Lower indices are symbols without a version, the object's own name, and its oldest version,
 * against which a reference without a version was linked. */
#define INDEX_NEWER 3u

/* Copies the BYTES at ADDRESS, an entry of a table of versions. Each entry has the distance to the
 * next one, always forwards, so every walk ends at the end of the segment at the latest. */
static bool read_entry(const struct hk_object *object, uintptr_t address, void *entry, size_t bytes)
{
	if (!hk_object_holds(object, address, bytes)) {
		return false;
	}
	memcpy(entry, (const void *)address, bytes);
	return true;
}

static const char *text(const struct hk_object *object, size_t offset)
{
	return offset < object->string_bytes ? object->strings + offset : NULL;
}

/* Returns whether the object defines version INDEX. Sets *ret_name to its name, or to NULL for the
 * base version. */
static bool find_definition(const struct hk_object *object, unsigned index, const char **ret_name)
{
	ElfW(Verdef) entry;
	for (uintptr_t at = object->version_definitions;
	     at && read_entry(object, at, &entry, sizeof(entry)); at += entry.vd_next) {
		if ((entry.vd_ndx & INDEX_MASK) == index) {
			ElfW(Verdaux) first;
			bool named = !(entry.vd_flags & VER_FLG_BASE) &&
				     read_entry(object, at + entry.vd_aux, &first, sizeof(first));
			*ret_name = named ? text(object, first.vda_name) : NULL;
			return true;
		}
		if (!entry.vd_next) {
			break;
		}
	}
	return false;
}

/* The same for a version that the object needs from a library. */
static bool find_auxiliary(const struct hk_object *object, uintptr_t at, unsigned index,
			   struct hk_version *ret_version)
{
	ElfW(Vernaux) entry;
	for (; read_entry(object, at, &entry, sizeof(entry)); at += entry.vna_next) {
		if ((entry.vna_other & INDEX_MASK) == index) {
			ret_version->name = text(object, entry.vna_name);
			ret_version->hidden = (entry.vna_other & HIDDEN) != 0;
			return true;
		}
		if (!entry.vna_next) {
			break;
		}
	}
	return false;
}

static void find_need(const struct hk_object *object, unsigned index,
		      struct hk_version *ret_version)
{
	ElfW(Verneed) entry;
	for (uintptr_t at = object->version_needs;
	     at && read_entry(object, at, &entry, sizeof(entry)); at += entry.vn_next) {
		if (find_auxiliary(object, at + entry.vn_aux, index, ret_version) ||
		    !entry.vn_next) {
			break;
		}
	}
}

void hk_version_get(const struct hk_object *object, size_t index, struct hk_version *ret_version)
{
	struct hk_version version = {NULL, false};
	if (index < object->version_room) {
		unsigned number = object->versions[index] & INDEX_MASK;
		if (!find_definition(object, number, &version.name)) {
			find_need(object, number, &version);
		}
	}
	*ret_version = version;
}

struct search {
	const struct hk_version *wanted;
	const ElfW(Sym) * found;
	const ElfW(Sym) * newer; /* default definition for a reference without a version */
	unsigned newer_count;
};

/* Returns whether definition INDEX, in an object with versions, has the wanted version, or no
 * version, which matches too. */
static bool agrees(const struct hk_object *object, size_t index, const struct hk_version *wanted)
{
	struct hk_version own;
	hk_version_get(object, index, &own);
	if (own.name && strcmp(own.name, wanted->name) == 0) {
		return true;
	}
	return !wanted->hidden && !own.name && !(object->versions[index] & HIDDEN);
}

static bool judge(const struct hk_object *object, size_t index, void *data)
{
	struct search *search = data;
	const ElfW(Sym) *symbol = &object->symbols[index];
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF || type == STT_SECTION || type == STT_FILE ||
	    (!symbol->st_value && symbol->st_shndx != SHN_ABS && type != STT_TLS)) {
		return true;
	}
	if (index < object->version_room) {
		unsigned version = object->versions[index];
		if (search->wanted->name) {
			if (!agrees(object, index, search->wanted)) {
				return true;
			}
		} else if ((version & INDEX_MASK) >= INDEX_NEWER) {
			if (!(version & HIDDEN) && !search->newer_count++) {
				search->newer = symbol;
			}
			return true;
		}
	}
	search->found = symbol;
	return false;
}

const ElfW(Sym) * hk_version_match(const struct hk_object *object, const char *name,
				   const struct hk_version *wanted)
{
	struct search search = {.wanted = wanted};
	hk_object_walk(object, name, judge, &search);
	const ElfW(Sym) *symbol = search.found		    ? search.found
				  : search.newer_count == 1 ? search.newer
							    : NULL;
	if (!symbol || ELF64_ST_BIND(symbol->st_info) == STB_LOCAL ||
	    ELF64_ST_VISIBILITY(symbol->st_other) == STV_HIDDEN ||
	    ELF64_ST_VISIBILITY(symbol->st_other) == STV_INTERNAL) {
		return NULL;
	}
	return symbol;
}
