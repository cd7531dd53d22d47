#include "patch/dl.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "patch/object.h"
#include "patch/patch.h"
#include "record/process.h"

/* Read by the stubs in dl_x86_64.S, in the order of `names`. */
void *_Atomic hk_dl_originals[HK_DL_COUNT];

/* The stubs, and what they call; assembly sees only what is not static. */
extern void hk_dl_stub_open(void);
extern void hk_dl_stub_mopen(void);
extern void hk_dl_stub_close(void);
extern void hk_dl_stub_sym(void);
extern void hk_dl_stub_vsym(void);
int hk_dl_framed(const char *name, const void *caller);
void *hk_dl_open(const char *name, int mode);

static const char names[HK_DL_COUNT][8] = {"dlopen", "dlmopen", "dlclose", "dlsym",
					   "dlvsym", "_exit",	"_Exit"};

static void exit_by(int index, int code)
{
	void (*original)(int) = (void (*)(int))atomic_load(&hk_dl_originals[index]);
	hk_process_end(code);
	original(code);
}

static void exit_now(int code)
{
	exit_by(5, code);
}

static void exit_as_c99(int code)
{
	exit_by(6, code);
}

int hk_dl_index(const char *function)
{
	bool dl = function[0] == 'd' && function[1] == 'l';
	bool ends = function[0] == '_' && (function[1] == 'e' || function[1] == 'E');
	if (!dl && !ends) {
		return -1;
	}
	for (int i = 0; i < HK_DL_COUNT; i++) {
		if (strcmp(function, names[i]) == 0) {
			return i;
		}
	}
	return -1;
}

void *hk_dl_wrapper(int index)
{
	void (*const stubs[HK_DL_COUNT])(void) = {
	    hk_dl_stub_open, hk_dl_stub_mopen,	       hk_dl_stub_close,	   hk_dl_stub_sym,
	    hk_dl_stub_vsym, (void (*)(void))exit_now, (void (*)(void))exit_as_c99};
	return (void *)stubs[index];
}

int hk_dl_adopt(int index, void *original)
{
	void *none = NULL;
	if (atomic_compare_exchange_strong(&hk_dl_originals[index], &none, original) ||
	    none == original) {
		return 0;
	}
	return -EEXIST;
}

struct search {
	uintptr_t caller;
	bool caller_plain; /* found, and without a search path of its own */
	bool inherited;	   /* an object that is not the program has DT_RPATH, which those it loaded
			      inherit */
};

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	struct hk_object object;
	(void)size;
	if (hk_object_read(info, &object) < 0) {
		return 0;
	}
	if (hk_object_executes(&object, search->caller)) {
		search->caller_plain = !object.runpath && !object.rpath;
	}
	search->inherited |= object.rpath && object.name[0];
	return 0;
}

/* Whether dlopen(NAME) called from CALLER does the same when called from the agent. */
int hk_dl_framed(const char *name, const void *caller)
{
	hk_patch_rescan();
	if (!name) {
		return 1;
	}
	if (strchr(name, '$')) {
		return 0;
	}
	if (strchr(name, '/')) {
		return 1;
	}
	struct search search = {.caller = (uintptr_t)caller};
	dl_iterate_phdr(look, &search);
	return search.caller_plain && !search.inherited;
}

void *hk_dl_open(const char *name, int mode)
{
	void *(*original)(const char *, int) =
	    (void *(*)(const char *, int))atomic_load(&hk_dl_originals[0]);
	void *handle = original(name, mode);
	hk_patch_rescan();
	return handle;
}
