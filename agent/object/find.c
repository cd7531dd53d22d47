#include "agent/object/find.h"

#include <stdint.h>

#include "agent/object/export.h"
#include "agent/object/loader.h"

#define MISSES_MAX 16u /* a walk over all objects each */

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

void *hk_find_variable(const char *name)
{
	return hk_find_variable_in("*", name);
}

static int find_kept(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hk_find_kept *kept = data;
	uint64_t unloads = hk_loader_unloads();
	void *address = hk_find_function("*", kept->name);
	(void)info;
	(void)size;
	atomic_store_explicit(&kept->address, address, memory_order_relaxed);
	atomic_store_explicit(&kept->unloads, unloads, memory_order_release);
	if (!address) {
		atomic_fetch_add_explicit(&kept->misses, 1, memory_order_relaxed);
	}
	return 1;
}

void *hk_find_keep(struct hk_find_kept *kept)
{
	void *address = atomic_load_explicit(&kept->address, memory_order_relaxed);
	if (!address && atomic_load_explicit(&kept->misses, memory_order_relaxed) >= MISSES_MAX) {
		return NULL;
	}
	if (address &&
	    atomic_load_explicit(&kept->unloads, memory_order_acquire) == hk_loader_unloads()) {
		return address;
	}
	if (hk_loader_try(find_kept, kept) < 0) {
		return NULL;
	}
	return atomic_load_explicit(&kept->address, memory_order_relaxed);
}
