#include "agent/object/find.h"

#include <link.h>
#include <stdint.h>

#include "agent/object/loader.h"
#include "agent/object/object.h"
#include "agent/patch/patch.h"
#include "hooks/pattern.h"

#define MISSES_MAX 16u /* a walk over all objects each */

struct wanted {
	const char *library;
	const char *name;
	uintptr_t (*find)(const struct hk_object *object, const char *name);
	uintptr_t address;
};

static int lookup(struct dl_phdr_info *info, size_t size, void *data)
{
	struct wanted *wanted = data;
	struct hk_object object;
	(void)size;
	if (hk_object_read(info, &object) < 0 ||
	    hk_object_executes(&object, (uintptr_t)hk_patch_start) ||
	    !hk_pattern_match_library(wanted->library, hk_patch_path(&object))) {
		return 0;
	}
	wanted->address = wanted->find(&object, wanted->name);
	return wanted->address != 0;
}

void *hk_find_function(const char *library, const char *name)
{
	struct wanted wanted = {.library = library, .name = name, .find = hk_object_function};
	hk_loader_iterate(lookup, &wanted);
	return (void *)wanted.address;
}

void *hk_find_variable_in(const char *library, const char *name)
{
	struct wanted wanted = {.library = library, .name = name, .find = hk_object_variable};
	hk_loader_iterate(lookup, &wanted);
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
