#include "agent/wrap/lookup.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent/hooks/hookset.h"
#include "agent/object/loader.h"
#include "agent/object/object.h"
#include "agent/object/program.h"
#include "agent/object/version.h"
#include "agent/patch/patch.h"
#include "agent/patch/wrapped.h"
#include "agent/record/process.h"
#include "agent/wrap/pointer.h"

/* A search for the object that defines a name for one caller. */
struct survey {
	const char *name;
	struct hk_version version;
	uintptr_t caller;
	uintptr_t vdso; /* listed, but part of no scope */
	bool next;	/* only definitions after the caller count */
	bool passed;	/* the caller was passed, in load order */
	size_t index;	/* index of the caller */
	const char *user;
	bool user_initial; /* loaded at the start, and searched after the global scope */
	bool user_defines;
	unsigned definers;
	bool hooked; /* a hook wants a definition */
};

static bool is_hooked(const struct survey *survey, const struct hk_object *provider)
{
	uint8_t level, pinned;
	uint32_t stack_rate;
	return hk_hookset_find(hk_patch_hookset(), survey->name, hk_program_path_of(provider),
			       survey->user, &level, &pinned, &stack_rate) &&
	       level != HK_LEVEL_OFF;
}

static int find_user(struct dl_phdr_info *info, size_t size, void *data)
{
	struct survey *survey = data;
	struct hk_object object;
	(void)size;
	if (hk_object_read(info, &object) < 0) {
		return 0;
	}
	if (hk_object_executes(&object, survey->caller)) {
		survey->user = hk_program_path_of(&object);
		survey->user_initial = survey->index < hk_patch_initial() && !object.symbolic;
		return 1;
	}
	survey->index++;
	return 0;
}

static int find_definers(struct dl_phdr_info *info, size_t size, void *data)
{
	struct survey *survey = data;
	struct hk_object object;
	(void)size;
	if (hk_object_read(info, &object) < 0 ||
	    (survey->vdso && hk_object_holds(&object, survey->vdso, 1))) {
		return 0;
	}
	bool is_user = hk_object_executes(&object, survey->caller);
	if (hk_version_match(&object, survey->name, &survey->version)) {
		survey->definers++;
		survey->user_defines |= is_user;
		survey->hooked |= (!survey->next || survey->passed) && is_hooked(survey, &object);
	}
	survey->passed |= is_user;
	return 0;
}

/* The loader's lock is held for both steps: the paths belong to the loader. */
static int survey_locked(struct dl_phdr_info *info, size_t size, void *data)
{
	struct survey *survey = data;
	(void)info;
	(void)size;
	hk_loader_iterate(find_user, survey);
	if (survey->user) {
		hk_loader_iterate(find_definers, survey);
	}
	return 1;
}

static void *ask(void *handle, const char *name, const char *version)
{
	if (version) {
		void *(*original)(void *, const char *, const char *) =
		    (void *(*)(void *, const char *, const char *))atomic_load(
			&hk_wrapped_originals[HK_WRAPPED_VSYM]);
		return original(handle, name, version);
	}
	void *(*original)(void *, const char *) =
	    (void *(*)(void *, const char *))atomic_load(&hk_wrapped_originals[HK_WRAPPED_SYM]);
	return original(handle, name);
}

/* Returns whether the caller's own scope gives the same definition as the agent's. */
static bool is_same_for_all(const struct survey *survey)
{
	return survey->user_initial || (survey->user && survey->definers == 1);
}

struct hk_lookup hk_lookup_symbol(void *handle, const char *name, const char *version,
				  const void *caller)
{
	struct hk_lookup leave = {NULL, 0};
	hk_patch_rescan();
	if (hk_in_agent == 1 || !name || !hk_pointer_wanted(name)) {
		return leave;
	}
	bool anywhere = handle == RTLD_DEFAULT;
	bool framed = !anywhere && handle != RTLD_NEXT;
	struct survey survey = {.name = name,
				.version = {version, version != NULL},
				.caller = (uintptr_t)caller,
				.next = handle == RTLD_NEXT,
				.vdso = getauxval(AT_SYSINFO_EHDR)};
	if (!framed) {
		hk_loader_iterate(survey_locked, &survey);
		framed = anywhere && is_same_for_all(&survey);
	}
	void *address = framed ? ask(handle, name, version) : NULL;
	if (address) {
		return (struct hk_lookup){hk_pointer_of_symbol(name, address, caller), 1};
	}
	if (framed && !anywhere) {
		return (struct hk_lookup){NULL, 1};
	}
	/* The name was not found, or not searched for. The original answers for the caller. An
	 * interposer's calls to the next definition were seen when the interposer was called. */
	if (survey.hooked && !(survey.next && survey.user_defines)) {
		hk_patch_escaped(name);
	}
	return leave;
}
