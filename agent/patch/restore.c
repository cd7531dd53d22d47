#include "agent/patch/restore.h"

#include <stdatomic.h>
#include <stdint.h>

#include "agent/frame/site.h"
#include "agent/object/slot.h"
#include "agent/patch/change.h"
#include "agent/patch/entry.h"
#include "agent/patch/redirect.h"
#include "agent/patch/wrapped.h"

#define LAYERS_MAX 4u /* an entry point's wrapper, a thunk, a wrapper, a function */

/* Returns the function behind one layer of the agent at ADDRESS, or NULL if there is none. */
static void *behind(const void *address)
{
	void *function = hk_entry_original(address);
	if (!function) {
		function = hk_site_original(address);
	}
	for (int i = 0; i < HK_WRAPPED_COUNT && !function; i++) {
		if (address == hk_wrapped_addresses[i]) {
			function = atomic_load(&hk_wrapped_originals[i]);
		}
	}
	return function;
}

/* Returns the value that SLOT would have without the agent. */
static void *value_of(const struct hk_loaded *loaded, const struct hk_slot *slot, void *value)
{
	uintptr_t address = 0;
	for (unsigned i = 0; i < LAYERS_MAX && value; i++) {
		void *next = behind(value);
		if (!next) {
			break;
		}
		value = next;
	}
	value = hk_redirect_original(slot->function, value);
	if (hk_change_is_target(slot->function, value) &&
	    hk_loaded_define(loaded, slot->function, &address) && address) {
		value = (void *)address;
	}
	return value;
}

static void restore_table(const struct hk_loaded *loaded, const struct hk_object *object,
			  const struct hk_relocations *table, struct hk_slot_pages *pages)
{
	for (size_t i = 0; i < table->count; i++) {
		struct hk_slot slot;
		if ((!hk_slot_read(object, table, i, &slot) &&
		     !hk_slot_read_table(object, table, i, &slot)) ||
		    !hk_object_holds(object, (uintptr_t)slot.at, sizeof(void *))) {
			continue;
		}
		void *value = atomic_load_explicit((void *_Atomic *)slot.at, memory_order_acquire);
		void *wanted = value_of(loaded, &slot, value);
		if (wanted != value) {
			hk_slot_write(object, pages, slot.at, wanted);
		}
	}
}

void hk_restore_slots(const struct hk_loaded *loaded)
{
	for (size_t i = 0; i < loaded->count; i++) {
		struct hk_slot_pages pages = {0, 0};
		restore_table(loaded, &loaded->objects[i], &loaded->objects[i].plt, &pages);
		restore_table(loaded, &loaded->objects[i], &loaded->objects[i].data, &pages);
		hk_slot_close(&pages);
	}
}
