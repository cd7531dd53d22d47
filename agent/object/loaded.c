#include "agent/object/loaded.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent/memory/arena.h"
#include "agent/object/version.h"

#define ROOM_FIRST 128u

static int grow(struct hk_loaded *loaded)
{
	size_t room = loaded->room ? loaded->room * 2 : ROOM_FIRST;
	struct hk_object *objects = hk_arena_take(room * sizeof(*objects));
	if (!objects) {
		return -ENOMEM;
	}
	if (loaded->count) {
		memcpy(objects, loaded->objects, loaded->count * sizeof(*objects));
	}
	loaded->objects = objects;
	loaded->room = room;
	return 0;
}

static int add(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hk_loaded *loaded = data;
	(void)size;
	if (loaded->count == loaded->room && grow(loaded) < 0) {
		return -ENOMEM;
	}
	if (hk_object_read(info, &loaded->objects[loaded->count]) == 0) {
		loaded->count++;
	}
	return 0;
}

static bool is_needed(const struct hk_loaded *loaded, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (hk_object_needs(&loaded->objects[i], &loaded->objects[index])) {
			return true;
		}
	}
	return false;
}

/* Counts the objects loaded at the start. The loader lists the program, preloaded libraries, and
 * then breadth first the libraries these are linked with. Libraries opened by a constructor that
 * ran before the agent's come last. Preloaded libraries need not be needed by any object, but come
 * before the program's own. A filter changes this order. */
static size_t count_initial(const struct hk_loaded *loaded)
{
	size_t own = 0;
	for (size_t i = 1; i < loaded->count; i++) {
		if (hk_object_needs(&loaded->objects[0], &loaded->objects[i])) {
			own = i;
		}
	}
	size_t count = 0;
	while (count < loaded->count && !loaded->objects[count].filter &&
	       (count <= own || is_needed(loaded, count))) {
		count++;
	}
	return count;
}

/* Returns whether the program names an audit module. The environment is checked elsewhere. */
static bool is_audited(const struct hk_object *program)
{
	bool audited = false;
	for (size_t i = 0; i < program->dynamic_count && !audited; i++) {
		ElfW(Sxword) tag = program->dynamic[i].d_tag;
		audited = tag == DT_AUDIT || tag == DT_DEPAUDIT;
	}
	return audited;
}

int hk_loaded_collect(struct hk_loaded *loaded)
{
	loaded->count = 0;
	loaded->last = 0;
	int result = dl_iterate_phdr(add, loaded);
	if (result == 0 && !loaded->initial) {
		loaded->initial = count_initial(loaded);
		loaded->dynamic_weak = getenv("LD_DYNAMIC_WEAK") != NULL;
		loaded->audited = getenv("LD_AUDIT") || is_audited(&loaded->objects[0]);
	}
	return result;
}

const struct hk_object *hk_loaded_code(struct hk_loaded *loaded, uintptr_t address)
{
	if (loaded->last < loaded->count &&
	    hk_object_executes(&loaded->objects[loaded->last], address)) {
		return &loaded->objects[loaded->last];
	}
	for (size_t i = 0; i < loaded->count; i++) {
		if (hk_object_executes(&loaded->objects[i], address)) {
			loaded->last = i;
			return &loaded->objects[i];
		}
	}
	return NULL;
}

const struct hk_object *hk_loaded_holder(const struct hk_loaded *loaded, uintptr_t address)
{
	for (size_t i = 0; i < loaded->count; i++) {
		if (hk_object_holds(&loaded->objects[i], address, 1)) {
			return &loaded->objects[i];
		}
	}
	return NULL;
}

const struct hk_object *hk_loaded_define(const struct hk_loaded *loaded, const char *name,
					 uintptr_t *ret_address)
{
	for (size_t i = 0; i < loaded->count; i++) {
		const ElfW(Sym) *symbol = hk_object_find(&loaded->objects[i], name);
		if (symbol && symbol->st_shndx != SHN_UNDEF) {
			*ret_address = hk_object_function(&loaded->objects[i], name);
			return &loaded->objects[i];
		}
	}
	return NULL;
}

/* Returns whether a definition is certain. There are two rules, unless an audit module decides. A
 * definition that is the only one, in an object that cannot be unloaded before the caller, is
 * certain: a part of the global scope, the caller itself, or a library that it is linked with. The
 * global scope's definition is certain for callers in the global scope: later objects are searched
 * later. */
static bool is_certain(const struct hk_loaded *loaded, const struct hk_object *caller,
		       const struct hk_object *first, unsigned matches, bool own)
{
	bool first_initial = (size_t)(first - loaded->objects) < loaded->initial;
	if (matches == 1) {
		return first_initial || first == caller || hk_object_needs(caller, first);
	}
	bool caller_initial = (size_t)(caller - loaded->objects) < loaded->initial;
	return first_initial && caller_initial && !(own && caller->symbolic) &&
	       !loaded->dynamic_weak;
}

const struct hk_object *hk_loaded_resolve(const struct hk_loaded *loaded,
					  const struct hk_object *caller, const ElfW(Sym) * symbol,
					  const char *name, uintptr_t *ret_address)
{
	struct hk_version wanted;
	hk_version_get(caller, (size_t)(symbol - caller->symbols), &wanted);
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
	const struct hk_object *first = NULL;
	uintptr_t address = 0;
	unsigned matches = 0;
	bool own = false;
	for (size_t i = 0; i < loaded->count; i++) {
		const struct hk_object *object = &loaded->objects[i];
		const ElfW(Sym) *match = hk_version_match(object, name, &wanted);
		/* The kernel's page is listed but belongs to no scope. */
		if (!match || (vdso && hk_object_holds(object, vdso, 1))) {
			continue;
		}
		if (!matches++) {
			first = object;
			address = ELF64_ST_BIND(match->st_info) == STB_GNU_UNIQUE
				      ? 0
				      : hk_object_code(object, match);
		}
		own |= object == caller;
	}
	if (!address || loaded->audited || ELF64_ST_VISIBILITY(symbol->st_other) != STV_DEFAULT ||
	    !is_certain(loaded, caller, first, matches, own)) {
		return NULL;
	}
	*ret_address = address;
	return first;
}
