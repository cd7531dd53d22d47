#include "agent/object/namespace.h"

#include <elf.h>

#define NAMESPACES_MAX 64u /* more than any loader allows */
#define OBJECTS_MAX 65536u
#define VERSION_CHAINED 2

/* struct r_debug_extended of glibc 2.35; older headers lack it. */
struct chained {
	struct r_debug base;
	struct chained *next;
};

/* Finds r_debug by the dynamic section: a program's variable _r_debug may be a stale copy. */
static const struct chained *debug_of(const struct hk_object *program)
{
	for (size_t i = 0; i < program->dynamic_count; i++) {
		if (program->dynamic[i].d_tag == DT_DEBUG) {
			return (const void *)program->dynamic[i].d_un.d_ptr;
		}
	}
	return NULL;
}

/* The loader itself is listed in every namespace. */
static bool is_seen(const struct hk_loaded *loaded, const struct link_map *map)
{
	for (size_t i = 0; i < loaded->count; i++) {
		if (loaded->objects[i].base == map->l_addr &&
		    loaded->objects[i].dynamic == map->l_ld) {
			return true;
		}
	}
	return false;
}

struct hk_namespaces hk_namespaces_hidden(const struct hk_loaded *loaded, unsigned long long live)
{
	struct hk_namespaces hidden = {0, 0};
	const struct chained *entry = loaded->count ? debug_of(&loaded->objects[0]) : NULL;
	if (!entry || entry->base.r_version < VERSION_CHAINED) {
		hidden.count = live > loaded->count;
		return hidden;
	}
	entry = entry->next;
	for (unsigned i = 0; entry && i < NAMESPACES_MAX; i++, entry = entry->next) {
		const struct link_map *map = entry->base.r_map;
		hidden.count += map != NULL;
		for (unsigned n = 0; map && n < OBJECTS_MAX; n++, map = map->l_next) {
			hidden.objects += !is_seen(loaded, map);
		}
	}
	return hidden;
}
