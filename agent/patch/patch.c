/* How a scan goes: one dl_iterate_phdr call, whose first callback collects all objects by a nested
 * call (the loader's lock is recursive) and then patches them, so that what it saw is what it
 * writes to. That lock is the only one: threads that want to scan wait for each other there, and
 * since dlopen takes it inside its own lock while a scan never takes that one, no order of locks
 * exists to be broken.
 */
#include "agent/patch/patch.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/frame/site.h"
#include "agent/frame/state.h"
#include "agent/object/find.h"
#include "agent/object/loaded.h"
#include "agent/object/loader.h"
#include "agent/object/namespace.h"
#include "agent/object/object.h"
#include "agent/object/program.h"
#include "agent/object/slot.h"
#include "agent/patch/caller.h"
#include "agent/patch/candidates.h"
#include "agent/patch/change.h"
#include "agent/patch/entry.h"
#include "agent/patch/escaped.h"
#include "agent/patch/known.h"
#include "agent/patch/left.h"
#include "agent/patch/redirect.h"
#include "agent/patch/restore.h"
#include "agent/patch/wrapped.h"
#include "agent/record/process.h"
#include "agent/stack/code.h"
#include "hooks/pattern.h"
#include "ring/kernel.h"

#define SCAN_BYTES 8192u /* bytes of the stack */

static struct {
	const struct hk_hookset *set;
	void (*unloaded)(struct hk_span span);
	struct hk_loaded loaded;
	struct hk_knowns knowns;
	struct hk_candidates candidates;
	unsigned long long adds, subs; /* counters at the last scan */
	bool started;
	bool late;	     /* the process ran already: objects may be in any state */
	bool stopped;	     /* nothing is patched */
	atomic_bool again;   /* an object was pending */
	atomic_bool revisit; /* a slot may have been overwritten */
	struct hk_coverage coverage;
} patcher;

static bool is_wrapped(const char *function)
{
	int dl = hk_wrapped_index(function);
	return hk_entry_named(function) ||
	       (dl >= 0 && !(hk_wrapped_yields(dl) && hk_hookset_wants(patcher.set, function)));
}

/* Collects the slots of one table that a hook or a dl* wrapper may want. */
static void gather(const struct hk_object *object, const struct hk_relocations *table,
		   size_t *count)
{
	for (size_t i = 0; i < table->count; i++) {
		struct hk_slot slot;
		uint32_t hash;
		if (!hk_slot_read(object, table, i, &slot) &&
		    !(patcher.set->tables && hk_slot_read_table(object, table, i, &slot))) {
			continue;
		}
		if (slot.kind == HK_SLOT_TABLE && is_wrapped(slot.function)) {
			continue;
		}
		/* Most slots of a large library lead to its own functions, as its hash table shows.
		 */
		if (slot.symbol->st_shndx != SHN_UNDEF &&
		    hk_object_hash(object, (size_t)(slot.symbol - object->symbols), &hash) &&
		    !hk_hookset_wants_hash(patcher.set, hash, hk_program_path_of(object))) {
			continue;
		}
		if ((hk_hookset_wants(patcher.set, slot.function) || is_wrapped(slot.function)) &&
		    hk_object_holds(object, (uintptr_t)slot.at, sizeof(void *)) &&
		    !hk_candidates_add(&patcher.candidates, count, &slot)) {
			return;
		}
	}
}

static enum hk_slot_value examine(const struct hk_object *object, const struct hk_slot *slot,
				  uintptr_t *ret_value, const struct hk_object **ret_provider)
{
	uintptr_t value =
	    (uintptr_t)atomic_load_explicit((void *_Atomic *)slot->at, memory_order_acquire);
	*ret_value = value;
	if (hk_site_is_thunk((const void *)value)) {
		*ret_provider = NULL;
		return HK_VALUE_FUNCTION;
	}
	const struct hk_object *provider = value ? hk_loaded_code(&patcher.loaded, value) : NULL;
	*ret_provider = provider;
	/* Data of a program at a low address may look like an offset into a large library. */
	const struct hk_object *holder =
	    provider ? provider : hk_loaded_holder(&patcher.loaded, value);
	return hk_slot_classify(object, slot, value, holder && holder != object);
}

/* Returns whether OBJECT is relocated. Objects are listed before they are relocated. A patch before
 * that would save a file offset as the original and be overwritten. The loader relocates the data
 * table first and the PLT's last, so every PLT slot is checked. Tables of pointers show nothing,
 * because the program may have written to them. */
static bool relocated(const struct hk_object *object, size_t candidate_count)
{
	uintptr_t value;
	const struct hk_object *provider;
	for (size_t i = 0; i < candidate_count; i++) {
		if (patcher.candidates.slots[i].kind != HK_SLOT_TABLE &&
		    examine(object, &patcher.candidates.slots[i], &value, &provider) ==
			HK_VALUE_UNRELOCATED) {
			return false;
		}
	}
	for (size_t i = 0; i < object->plt.count; i++) {
		struct hk_slot slot;
		if (hk_slot_read(object, &object->plt, i, &slot) &&
		    hk_object_holds(object, (uintptr_t)slot.at, sizeof(void *)) &&
		    (uintptr_t)*slot.at < object->extent &&
		    examine(object, &slot, &value, &provider) == HK_VALUE_UNRELOCATED) {
			return false;
		}
	}
	return true;
}

static void refuse(struct hk_known *known, uint32_t reason)
{
	known->slots_refused[reason < HK_REFUSALS_MAX ? reason : HK_REFUSED_MEMORY]++;
}

/* A slot with the program's own PLT entry gets the real function as its original. Otherwise the
 * call would be counted again in the program's slot. */
static bool past_plt(const struct hk_object *object, const struct hk_slot *slot,
		     const struct hk_object **provider, uintptr_t *value)
{
	if (!*provider || *provider == object) {
		return true;
	}
	const ElfW(Sym) *symbol = hk_object_find(*provider, slot->function);
	if (!symbol || symbol->st_shndx != SHN_UNDEF ||
	    (*provider)->base + symbol->st_value != *value) {
		return true;
	}
	uintptr_t address = 0;
	const struct hk_object *definer =
	    hk_loaded_define(&patcher.loaded, slot->function, &address);
	if (!definer || !address) {
		/* If the slot stays as it is, the call is counted once, in the program's slot. */
		return false;
	}
	*provider = definer;
	*value = address;
	return true;
}

/* Makes a site for a slot of known kind and writes the slot. A changed function needs no site. */
static bool bind(struct hk_known *known, const struct hk_object *object, const struct hk_slot *slot,
		 struct hk_slot_pages *pages, struct hk_site_request *request, bool changed)
{
	uint32_t refusal = HK_REFUSED_MEMORY;
	void *thunk = request->level != HK_LEVEL_OFF ? hk_site_bind(request, &refusal) : NULL;
	if (!thunk && changed) {
		thunk = request->original;
	}
	if (!thunk) {
		refuse(known, refusal);
	} else if (hk_slot_write(object, pages, slot->at, thunk) < 0) {
		refuse(known, HK_REFUSED_PROTECTED);
	} else {
		known->slots_patched++;
		known->lazy |= request->lazy;
		return true;
	}
	return false;
}

/* Finds the function that a lazy slot will lead to. If the loader's stub is bypassed, nothing
 * overwrites the slot. Otherwise the first call does, and until that call returns, if it does, the
 * slot is lost. Returns false if only the loader can tell, and VALUE stays its stub. */
static bool resolve(const struct hk_object *object, const struct hk_slot *slot,
		    const struct hk_object **provider, uintptr_t *value)
{
	uintptr_t address;
	*provider =
	    hk_loaded_resolve(&patcher.loaded, object, slot->symbol, slot->function, &address);
	if (*provider) {
		*value = address;
		return true;
	}
	*provider = hk_loaded_define(&patcher.loaded, slot->function, &address);
	return false;
}

/* Makes the function that a line wants called instead the original. A stub of the loader is no
 * function that a replacement could call. */
static bool change(const struct hk_known *known, const struct hk_slot *slot, bool lazy,
		   struct hk_site_request *request)
{
	uintptr_t address = (uintptr_t)request->original;
	if (lazy && !hk_loaded_define(&patcher.loaded, slot->function, &address)) {
		return false;
	}
	void *target =
	    hk_change_target(slot->function, request->provider, known->path, (void *)address);
	if (target) {
		request->original = target;
		request->lazy = false;
	}
	return target != NULL;
}

/* Returns false if the slot has no hook's thunk. */
static bool patch_hook(struct hk_known *known, const struct hk_object *object,
		       const struct hk_slot *slot, struct hk_slot_pages *pages)
{
	uintptr_t value;
	const struct hk_object *provider;
	enum hk_slot_value is = examine(object, slot, &value, &provider);
	if (hk_site_is_thunk((void *)value) || hk_change_is_target(slot->function, (void *)value)) {
		known->slots_found++;
		known->slots_patched++;
		return true;
	}
	if (is == HK_VALUE_OWN_PLT ||
	    (is == HK_VALUE_FUNCTION && !past_plt(object, slot, &provider, &value))) {
		return false;
	}
	bool lazy = is == HK_VALUE_LAZY && !resolve(object, slot, &provider, &value);
	bool shared = slot->kind != HK_SLOT_PLT;
	struct hk_site_request request = {
	    .function = slot->function,
	    .library = shared ? "*" : known->path,
	    .provider = provider ? hk_program_path_of(provider) : "",
	    .original = (void *)value,
	    .slot = shared ? NULL : slot->at,
	    .lazy = lazy,
	    .caller = shared ? (struct hk_span){0, 0} : known->span,
	    .shared = shared,
	};
	request.hook = hk_hookset_find(patcher.set, slot->function, request.provider, known->path,
				       &request.level, &request.pinned, &request.stack_rate);
	if (!request.hook) {
		if (hk_hookset_denies(patcher.set, slot->function, request.provider)) {
			known->slots_found++;
			refuse(known, HK_REFUSED_DENIED);
		}
		return false;
	}
	bool changed = change(known, slot, lazy, &request);
	if ((request.level == HK_LEVEL_OFF && !changed) ||
	    (slot->kind == HK_SLOT_TABLE &&
	     (is == HK_VALUE_UNRELOCATED || !(request.hook->flags & HK_HOOK_TABLES)))) {
		return false;
	}
	known->slots_found++;
	if (is == HK_VALUE_EMPTY) {
		refuse(known, HK_REFUSED_DATA);
	} else if (hk_object_is_variant(slot->symbol)) {
		refuse(known, HK_REFUSED_VARIANT);
	} else if (is == HK_VALUE_FUNCTION && !provider) {
		refuse(known, hk_loaded_holder(&patcher.loaded, value) ? HK_REFUSED_DATA
								       : HK_REFUSED_FOREIGN);
	} else if (is == HK_VALUE_FUNCTION && slot->kind == HK_SLOT_TABLE &&
		   !hk_object_defines(provider, slot->function, value)) {
		/* Returns whether the program has overwritten the entry since it was loaded. */
		refuse(known, HK_REFUSED_FOREIGN);
	} else if (!changed && hk_slot_is_compared(object, slot, provider == object,
						   request.hook->flags & HK_HOOK_DESCRIBED)) {
		refuse(known, HK_REFUSED_POINTER);
		hk_left_add((void *)value);
	} else {
		if (!changed && !lazy) {
			request.original = hk_wrapped_around(slot->function, request.original);
		}
		return bind(known, object, slot, pages, &request, changed);
	}
	return false;
}

/* Returns the agent's wrapper of the function at VALUE, or NULL. The wrapper of an entry point
 * function calls its thunk, if a hook wants it. */
static void *wrapper_of(const struct hk_known *known, const struct hk_slot *slot,
			const struct hk_object *provider, uintptr_t value)
{
	int dl = hk_wrapped_index(slot->function);
	if (dl >= 0) {
		return hk_wrapped_adopt(dl, (void *)value) < 0 ? NULL : hk_wrapped_addresses[dl];
	}
	struct hk_site_request request = {
	    .function = slot->function,
	    .library = known->path,
	    .provider = provider ? hk_program_path_of(provider) : "",
	    .original = (void *)value,
	    .caller = known->span,
	};
	request.hook = hk_hookset_find(patcher.set, slot->function, request.provider, known->path,
				       &request.level, &request.pinned, &request.stack_rate);
	uint32_t refusal;
	void *thunk =
	    request.hook && request.level != HK_LEVEL_OFF ? hk_site_bind(&request, &refusal) : NULL;
	return hk_entry_wrap(thunk ? thunk : (void *)value);
}

/* Patches slots of functions with a wrapper. */
static void patch_wrapped(struct hk_known *known, const struct hk_object *object,
			  const struct hk_slot *slot, struct hk_slot_pages *pages)
{
	uintptr_t value;
	const struct hk_object *provider;
	enum hk_slot_value is = examine(object, slot, &value, &provider);
	if (hk_wrapped_is_wrapper((void *)value) || hk_entry_original((void *)value) ||
	    is == HK_VALUE_EMPTY || is == HK_VALUE_OWN_PLT) {
		return;
	}
	if (is == HK_VALUE_LAZY) {
		/* Nothing calls the stub any more, so nothing overwrites the slot. */
		value = 0;
		provider = hk_loaded_define(&patcher.loaded, slot->function, &value);
	} else if (!past_plt(object, slot, &provider, &value)) {
		return;
	}
	if (slot->kind == HK_SLOT_GOT && provider == object) {
		return; /* the host may compare the function's address with one in a table */
	}
	void *wrapper = value && hk_loaded_code(&patcher.loaded, value)
			    ? wrapper_of(known, slot, provider, value)
			    : NULL;
	if (!wrapper) {
		refuse(known, HK_REFUSED_FOREIGN);
	} else if (hk_slot_write(object, pages, slot->at, wrapper) < 0) {
		refuse(known, HK_REFUSED_PROTECTED);
	}
}

static void patch_object(struct hk_known *known, const struct hk_object *object)
{
	size_t count = 0;
	gather(object, &object->plt, &count);
	gather(object, &object->data, &count);
	known->slots_found = 0;
	known->slots_patched = 0;
	memset(known->slots_refused, 0, sizeof(known->slots_refused));
	known->lazy = false;
	if (count && !known->startup &&
	    (!relocated(object, count) || !hk_known_settled(known, object))) {
		known->done = false;
		known->slots_found = (uint32_t)count;
		known->slots_refused[HK_REFUSED_PENDING] = (uint32_t)count;
		return;
	}
	known->done = true;
	struct hk_slot_pages pages = {0, 0};
	for (size_t i = 0; i < count; i++) {
		const struct hk_slot *slot = &patcher.candidates.slots[i];
		/* A hook that wants the name may be for another function, or be refused. */
		if (is_wrapped(slot->function) || (!patch_hook(known, object, slot, &pages) &&
						   hk_wrapped_index(slot->function) >= 0)) {
			patch_wrapped(known, object, slot, &pages);
		}
	}
	hk_slot_close(&pages);
}

/* Drops everything about the addresses of SPAN, whose object was unloaded. Another object may be
 * there soon or already, and must not be confused with it. */
static void forget(struct hk_span span)
{
	hk_site_retire(span);
	hk_left_forget(span);
	hk_entry_forget(span);
	hk_code_forget(span);
	patcher.unloaded(span);
}

/* Called before anything is compared with the objects loaded now. */
static void forget_unloaded(void)
{
	struct hk_knowns *knowns = &patcher.knowns;
	for (size_t i = 0; i < knowns->count; i++) {
		knowns->entries[i].seen = false;
	}
	for (size_t i = 0; i < patcher.loaded.count; i++) {
		struct hk_known *known =
		    hk_known_find(knowns, &patcher.loaded.objects[i], hk_program_path(), i);
		if (known) {
			known->seen = true;
		}
	}
	hk_known_sweep(knowns, forget);
}

/* Visits objects that may have changed: new ones, pending ones, those with slots that the loader
 * may have resolved meanwhile, and, if objects may have been replaced, those that may be others at
 * the same address. */
static void patch_all(bool replaced)
{
	struct hk_knowns *knowns = &patcher.knowns;
	atomic_store(&patcher.again, false);
	for (size_t i = 0; i < patcher.loaded.count; i++) {
		const struct hk_object *object = &patcher.loaded.objects[i];
		struct hk_known *known = hk_known_get(knowns, object, hk_program_path(), i);
		if (!known) {
			break;
		}
		known->startup |= !patcher.started && !patcher.late;
		known->mapped = (known->mapped && !replaced) || hk_code_add(object, known->path);
		if (!known->done && !known->skipped) {
			known->skipped = !hk_caller_counts(object, known->path, patcher.set->from);
		}
		if (!known->skipped &&
		    (!known->done || known->lazy || (replaced && !known->startup))) {
			patch_object(known, object);
			hk_redirect_objects(&patcher.loaded, object, known);
		}
		if (!known->skipped && !known->done) {
			atomic_store(&patcher.again, true);
		}
	}
}

/* Scans the objects that the loader has now. INFO holds its counters. */
static void rescan(const struct dl_phdr_info *info)
{
	/* If no object was added, the rest is known: a job with plugins unloads dozens at its
	 * start. */
	bool replaced = info->dlpi_subs != patcher.subs && info->dlpi_adds != patcher.adds;
	if (info->dlpi_subs != patcher.subs) {
		hk_loader_note_unload();
		hk_code_note_change();
	}
	hk_loader_find_lock();
	if (hk_loaded_collect(&patcher.loaded) < 0) {
		return;
	}
	patcher.adds = info->dlpi_adds;
	patcher.subs = info->dlpi_subs;
	forget_unloaded();
	hk_find_refresh(&patcher.loaded);
	patch_all(replaced);
	patcher.started = true;
	hk_known_count(&patcher.knowns, &patcher.coverage);
	patcher.coverage.scans++;
	struct hk_namespaces hidden =
	    hk_namespaces_hidden(&patcher.loaded, info->dlpi_adds - info->dlpi_subs);
	patcher.coverage.namespaces_hidden = hidden.count;
	patcher.coverage.objects_hidden = hidden.objects;
}

static void publish(void)
{
	patcher.coverage.symbols_escaped = hk_escaped_count();
	hk_process_cover(&patcher.coverage);
}

/* Returns whether a scan is needed although no object was loaded or unloaded. */
static bool is_waiting(void)
{
	return atomic_load(&patcher.again) || atomic_load(&patcher.revisit);
}

void hk_patch_refresh(struct dl_phdr_info *info)
{
	bool changed = info->dlpi_adds != patcher.adds || info->dlpi_subs != patcher.subs;
	if (patcher.stopped || (patcher.started && !changed && !is_waiting())) {
		return;
	}
	/* Signals are blocked: a hooked call in a handler would wait for the process lock, which a
	 * scan takes again and again. */
	uint64_t signals = hk_process_block_signals();
	atomic_store(&patcher.revisit, false);
	rescan(info);
	publish();
	hk_process_restore_signals(signals);
}

static int scan(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	(void)data;
	hk_patch_refresh(info);
	return 1;
}

void hk_patch_rescan(void)
{
	if (patcher.set && !patcher.stopped) {
		hk_loader_iterate(scan, NULL);
	}
}

void hk_patch_refresh_late(void)
{
	if (patcher.set && !patcher.stopped && hk_state_has_bytes(SCAN_BYTES)) {
		hk_loader_try(scan, NULL);
	}
}

int hk_patch_redirect(const struct hk_redirect_request *request)
{
	return hk_redirect(&patcher.loaded, &patcher.knowns, request);
}

void hk_patch_revisit(void)
{
	atomic_store(&patcher.revisit, true);
}

void hk_patch_start(const struct hk_hookset *set, void (*unloaded)(struct hk_span span), bool late)
{
	patcher.late = late;
	hk_loader_setup();
	hk_program_find();
	patcher.coverage.hook_lines_bad = set->bad_lines;
	patcher.coverage.hooks = set->hook_count;
	patcher.unloaded = unloaded;
	patcher.set = set;
	hk_patch_rescan();
}

static int stop(struct dl_phdr_info *info, size_t size, void *between)
{
	(void)info;
	(void)size;
	if (!((bool (*)(void))between)()) {
		return 2; /* any value but the one below ends the iteration */
	}
	patcher.stopped = true;
	if (hk_loaded_collect(&patcher.loaded) == 0) {
		hk_restore_slots(&patcher.loaded);
		hk_redirect_end();
	}
	return 1;
}

bool hk_patch_stop(bool (*between)(void))
{
	return hk_loader_iterate(stop, (void *)between) == 1;
}

static int resume(struct dl_phdr_info *info, size_t size, void *set)
{
	(void)size;
	patcher.set = set;
	patcher.coverage.hook_lines_bad = patcher.set->bad_lines;
	patcher.coverage.hooks = patcher.set->hook_count;
	hk_known_forget_slots(&patcher.knowns);
	atomic_store(&patcher.again, true);
	patcher.stopped = false;
	hk_patch_refresh(info);
	return 1;
}

bool hk_patch_resume(const struct hk_hookset *set)
{
	return hk_loader_iterate(resume, (void *)(uintptr_t)set) == 1;
}

const struct hk_hookset *hk_patch_hookset(void)
{
	return patcher.set;
}

bool hk_patch_is_stopped(void)
{
	return patcher.stopped;
}

size_t hk_patch_initial(void)
{
	return patcher.loaded.initial;
}

static int cover(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info;
	(void)size;
	(void)data;
	publish();
	return 1;
}

void hk_patch_escaped(const char *function)
{
	if (hk_escaped_add(function)) {
		hk_loader_iterate(cover, NULL);
	}
}
