#include "patch/loaded.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "arena.h"

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

int hk_loaded_collect(struct hk_loaded *loaded)
{
	loaded->count = 0;
	loaded->last = 0;
	return dl_iterate_phdr(add, loaded);
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
		const ElfW(Sym) *symbol = hk_object_find(&loaded->objects[i], name, NULL);
		if (symbol && symbol->st_shndx != SHN_UNDEF) {
			*ret_address = hk_object_function(&loaded->objects[i], name);
			return &loaded->objects[i];
		}
	}
	return NULL;
}

uintptr_t hk_loaded_only(const struct hk_loaded *loaded, const char *name)
{
	uintptr_t address = 0;
	unsigned found = 0;
	for (size_t i = 0; i < loaded->count; i++) {
		unsigned versions;
		const ElfW(Sym) *symbol = hk_object_find(&loaded->objects[i], name, &versions);
		if (symbol && symbol->st_shndx != SHN_UNDEF) {
			address = hk_object_function(&loaded->objects[i], name);
			found += versions;
		}
	}
	return found == 1 ? address : 0;
}
