#include "agent/wrap/dl.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "agent/frame/site.h"
#include "agent/object/loader.h"
#include "agent/object/object.h"
#include "agent/patch/entry.h"
#include "agent/patch/patch.h"
#include "agent/patch/wrapped.h"
#include "agent/record/thread.h"
#include "agent/wrap/departure.h"
#include "agent/wrap/sandbox.h"
#include "agent/wrap/signals.h"

/* The stubs and the functions that they call. Assembly sees only functions that are not static. */
extern void hk_dl_stub_open(void);
extern void hk_dl_stub_mopen(void);
extern void hk_dl_stub_sym(void);
extern void hk_dl_stub_vsym(void);
extern void hk_dl_stub_syscall(void);
int hk_dl_framed(const char *name, const void *caller);
void *hk_dl_open(const char *name, int mode);

static void exit_by(enum hk_wrapped which, int code)
{
	void (*original)(int) = (void (*)(int))atomic_load(&hk_wrapped_originals[which]);
	hk_thread_may_end(code);
	original(code);
}

static void exit_now(int code)
{
	exit_by(HK_WRAPPED_EXIT, code);
}

static void exit_as_c99(int code)
{
	exit_by(HK_WRAPPED_EXIT_C99, code);
}

static int control_process(int option, unsigned long a, unsigned long b, unsigned long c,
			   unsigned long d)
{
	int (*original)(int, ...) =
	    (int (*)(int, ...))atomic_load(&hk_wrapped_originals[HK_WRAPPED_PRCTL]);
	hk_sandbox_prctl(option, a);
	return original(option, a, b, c, d);
}

/* Functions after which no earlier path reaches the run directory. All take integers, three at
 * most. Registers without arguments are passed on unchanged. */
static int depart(enum hk_wrapped which, long a, long b, long c)
{
	int (*original)(long, long, long) =
	    (int (*)(long, long, long))atomic_load(&hk_wrapped_originals[which]);
	hk_departure_begin();
	int status = original(a, b, c);
	hk_departure_end();
	return status;
}

#define DEPARTURE(name, which)                  \
	static int name(long a, long b, long c) \
	{                                       \
		return depart(which, a, b, c);  \
	}

DEPARTURE(set_user, HK_WRAPPED_SETUID)
DEPARTURE(set_effective_user, HK_WRAPPED_SETEUID)
DEPARTURE(set_users, HK_WRAPPED_SETREUID)
DEPARTURE(set_all_users, HK_WRAPPED_SETRESUID)
DEPARTURE(set_file_user, HK_WRAPPED_SETFSUID)
DEPARTURE(change_root, HK_WRAPPED_CHROOT)
DEPARTURE(pivot_root, HK_WRAPPED_PIVOT_ROOT)
DEPARTURE(unshare_spaces, HK_WRAPPED_UNSHARE)
DEPARTURE(enter_space, HK_WRAPPED_SETNS)

static int lock_memory(int flags)
{
	int (*original)(int) =
	    (int (*)(int))atomic_load(&hk_wrapped_originals[HK_WRAPPED_MLOCKALL]);
	hk_departure_lock();
	int status = original(flags);
	if (status == 0) {
		hk_departure_locked(flags);
	}
	return status;
}

/* dlclose does not depend on its caller. */
static int close_object(void *handle)
{
	int (*original)(void *) =
	    (int (*)(void *))atomic_load(&hk_wrapped_originals[HK_WRAPPED_CLOSE]);
	hk_patch_rescan();
	int status = original(handle);
	hk_loader_note_unload();
	/* Called before another object can lie at the same address. */
	hk_patch_rescan();
	return status;
}

/* Returns the function that a thunk or wrapper at ADDRESS stands for, or ADDRESS. */
static const void *behind(const void *address)
{
	const void *original = hk_entry_original(address);
	address = original ? original : address;
	original = hk_site_original(address);
	address = original ? original : address;
	for (int i = 0; i < HK_WRAPPED_COUNT; i++) {
		original = atomic_load(&hk_wrapped_originals[i]);
		if (address == hk_wrapped_addresses[i] && original) {
			return original;
		}
	}
	return address;
}

/* The host may ask whether an address is that of a symbol. */
static void keep_identity(Dl_info *info, const void *asked, const void *function)
{
	if (info->dli_saddr == function) {
		info->dli_saddr = (void *)(uintptr_t)asked;
	}
}

static int describe(const void *address, Dl_info *info)
{
	int (*original)(const void *, Dl_info *) =
	    (int (*)(const void *, Dl_info *))atomic_load(&hk_wrapped_originals[HK_WRAPPED_ADDR]);
	const void *function = behind(address);
	int found = original(function, info);
	if (found) {
		keep_identity(info, address, function);
	}
	return found;
}

static int describe_more(const void *address, Dl_info *info, void **extra, int flags)
{
	int (*original)(const void *, Dl_info *, void **, int) =
	    (int (*)(const void *, Dl_info *, void **, int))atomic_load(
		&hk_wrapped_originals[HK_WRAPPED_ADDR1]);
	const void *function = behind(address);
	int found = original(function, info, extra, flags);
	if (found) {
		keep_identity(info, address, function);
	}
	return found;
}

struct search {
	uintptr_t caller;
	bool caller_plain; /* the caller was found and has no search path of its own */
	bool inherited; /* an object other than the program has DT_RPATH, which the libraries that
			   it loaded inherit */
};

static int find_caller(struct dl_phdr_info *info, size_t size, void *data)
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

/* Returns whether dlopen(NAME) from the agent does the same as from CALLER. */
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
	hk_loader_iterate(find_caller, &search);
	return search.caller_plain && !search.inherited;
}

void *hk_dl_open(const char *name, int mode)
{
	void *(*original)(const char *, int) =
	    (void *(*)(const char *, int))atomic_load(&hk_wrapped_originals[HK_WRAPPED_OPEN]);
	void *handle = original(name, mode);
	hk_patch_rescan();
	return handle;
}

static void (*const wrappers[HK_WRAPPED_TRACING])(void) = {
    [HK_WRAPPED_OPEN] = hk_dl_stub_open,
    [HK_WRAPPED_MOPEN] = hk_dl_stub_mopen,
    [HK_WRAPPED_CLOSE] = (void (*)(void))close_object,
    [HK_WRAPPED_SYM] = hk_dl_stub_sym,
    [HK_WRAPPED_VSYM] = hk_dl_stub_vsym,
    [HK_WRAPPED_ADDR] = (void (*)(void))describe,
    [HK_WRAPPED_ADDR1] = (void (*)(void))describe_more,
    [HK_WRAPPED_EXIT] = (void (*)(void))exit_now,
    [HK_WRAPPED_EXIT_C99] = (void (*)(void))exit_as_c99,
    [HK_WRAPPED_PRCTL] = (void (*)(void))control_process,
    [HK_WRAPPED_SYSCALL] = hk_dl_stub_syscall,
    [HK_WRAPPED_SETUID] = (void (*)(void))set_user,
    [HK_WRAPPED_SETEUID] = (void (*)(void))set_effective_user,
    [HK_WRAPPED_SETREUID] = (void (*)(void))set_users,
    [HK_WRAPPED_SETRESUID] = (void (*)(void))set_all_users,
    [HK_WRAPPED_SETFSUID] = (void (*)(void))set_file_user,
    [HK_WRAPPED_CHROOT] = (void (*)(void))change_root,
    [HK_WRAPPED_PIVOT_ROOT] = (void (*)(void))pivot_root,
    [HK_WRAPPED_UNSHARE] = (void (*)(void))unshare_spaces,
    [HK_WRAPPED_SETNS] = (void (*)(void))enter_space,
    [HK_WRAPPED_MLOCKALL] = (void (*)(void))lock_memory,
    [HK_WRAPPED_SIGACTION] = (void (*)(void))hk_signals_set_action,
    [HK_WRAPPED_SIGNAL] = (void (*)(void))hk_signals_set,
    [HK_WRAPPED_SIGALTSTACK] = (void (*)(void))hk_signals_set_stack,
};

void hk_dl_start(void)
{
	for (int i = 0; i < HK_WRAPPED_TRACING; i++) {
		hk_wrapped_addresses[i] = (void *)wrappers[i];
	}
}
