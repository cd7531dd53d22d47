#include "agent/object/find.h"

#include <errno.h>
#include <stdint.h>

#include "agent/object/export.h"
#include "agent/object/loader.h"

#define MISSES_MAX 16u /* each miss takes a walk over all objects */

void *hk_find_function(const char *library, const char *name)
{
	struct hk_export wanted = {.library = library, .name = name, .find = hk_object_function};
	hk_loader_iterate(hk_export_find, &wanted);
	return (void *)wanted.address;
}

void *hk_find_variable_in(const char *library, const char *name)
{
	struct hk_export wanted = {.library = library, .name = name, .find = hk_object_variable};
	hk_loader_iterate(hk_export_find, &wanted);
	return (void *)wanted.address;
}

/* ---- kept ---- */

static struct hk_find_kept *registered;

void hk_find_register(struct hk_find_kept *kept, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		kept[i].next = registered;
		registered = &kept[i];
	}
}

static uintptr_t (*finder_of(const struct hk_find_kept *kept))(const struct hk_object *,
							       const char *)
{
	return kept->is_variable ? hk_object_variable : hk_object_function;
}

/* Keeps a result. The caller holds the loader's lock and read UNLOADS before the objects. */
static void keep(struct hk_find_kept *kept, uintptr_t address, uint64_t unloads, size_t searched)
{
	kept->searched = searched;
	atomic_store_explicit(&kept->address, (void *)address, memory_order_relaxed);
	atomic_store_explicit(&kept->unloads, unloads + 1, memory_order_release);
}

static bool is_current(const struct hk_find_kept *kept)
{
	return atomic_load_explicit(&kept->unloads, memory_order_acquire) ==
	       hk_loader_unloads() + 1;
}

static void refresh(struct hk_find_kept *kept, const struct hk_loaded *loaded)
{
	uint64_t unloads = hk_loader_unloads();
	uintptr_t address = 0;
	bool current = is_current(kept);
	if (current && atomic_load_explicit(&kept->address, memory_order_relaxed)) {
		return;
	}
	for (size_t i = current ? kept->searched : 0; i < loaded->count && !address; i++) {
		address = finder_of(kept)(&loaded->objects[i], kept->name);
	}
	keep(kept, address, unloads, loaded->count);
}

void hk_find_refresh(const struct hk_loaded *loaded)
{
	for (struct hk_find_kept *kept = registered; kept; kept = kept->next) {
		refresh(kept, loaded);
		if (kept->refreshed) {
			kept->refreshed();
		}
	}
}

static int find_kept(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hk_find_kept *kept = data;
	uint64_t unloads = hk_loader_unloads();
	struct hk_export wanted = {.library = "*", .name = kept->name, .find = finder_of(kept)};
	(void)info;
	(void)size;
	hk_loader_iterate(hk_export_find, &wanted);
	keep(kept, wanted.address, unloads, 0);
	if (!wanted.address) {
		atomic_fetch_add_explicit(&kept->misses, 1, memory_order_relaxed);
	}
	return 1;
}

int hk_find_keep(struct hk_find_kept *kept, void **ret_address)
{
	void *address = atomic_load_explicit(&kept->address, memory_order_relaxed);
	if (!address && atomic_load_explicit(&kept->misses, memory_order_relaxed) >= MISSES_MAX) {
		return -ENOENT;
	}
	if (!address || !is_current(kept)) {
		if (hk_loader_try(find_kept, kept) < 0) {
			return -EBUSY;
		}
		address = atomic_load_explicit(&kept->address, memory_order_relaxed);
	}
	*ret_address = address;
	return address ? 0 : -ENOENT;
}
