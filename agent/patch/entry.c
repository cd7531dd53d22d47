#include "agent/patch/entry.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WRAPPERS 8u /* most drivers and runtimes in one process */

typedef int (*entry_function)(const char *name, void **result, uint64_t, uint64_t, uint64_t,
			      uint64_t);

static void *_Atomic originals[WRAPPERS];
static hk_entry_exchange exchange;

static int pass_on(unsigned index, const char *name, void **result, const uint64_t more[4],
		   const void *caller)
{
	entry_function original = (entry_function)atomic_load(&originals[index]);
	int status = original(name, result, more[0], more[1], more[2], more[3]);
	if (status == 0 && name && result && *result) {
		*result = exchange(name, *result, caller);
	}
	return status;
}

/* More arguments than any form has. Unused registers are passed on unchanged. */
#define WRAPPER(n)                                                                      \
	static int wrapper_##n(const char *name, void **result, uint64_t a, uint64_t b, \
			       uint64_t c, uint64_t d)                                  \
	{                                                                               \
		const uint64_t more[4] = {a, b, c, d};                                  \
		return pass_on(n, name, result, more, __builtin_return_address(0));     \
	}

WRAPPER(0)
WRAPPER(1)
WRAPPER(2)
WRAPPER(3)
WRAPPER(4)
WRAPPER(5)
WRAPPER(6)
WRAPPER(7)

static const entry_function wrappers[] = {wrapper_0, wrapper_1, wrapper_2, wrapper_3,
					  wrapper_4, wrapper_5, wrapper_6, wrapper_7};
static_assert(sizeof(wrappers) / sizeof(wrappers[0]) == WRAPPERS, "one for each original");

void hk_entry_start(hk_entry_exchange with)
{
	exchange = with;
}

bool hk_entry_named(const char *name)
{
	static const char *const names[] = {"cuGetProcAddress",
					    "cuGetProcAddress_v2",
					    "cudaGetDriverEntryPoint",
					    "cudaGetDriverEntryPoint_ptsz",
					    "cudaGetDriverEntryPointByVersion",
					    "cudaGetDriverEntryPointByVersion_ptsz"};
	if (name[0] != 'c' || name[1] != 'u') {
		return false;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) == 0) {
			return true;
		}
	}
	return false;
}

void *hk_entry_wrap(void *original)
{
	if (hk_entry_original(original)) {
		return original;
	}
	for (unsigned i = 0; i < WRAPPERS; i++) {
		void *none = NULL;
		if (atomic_compare_exchange_strong(&originals[i], &none, original) ||
		    none == original) {
			return (void *)wrappers[i];
		}
	}
	return NULL;
}

void hk_entry_forget(struct hk_span span)
{
	for (unsigned i = 0; i < WRAPPERS; i++) {
		if (hk_span_holds(span, (uintptr_t)atomic_load(&originals[i]))) {
			atomic_store(&originals[i], NULL);
		}
	}
}

void *hk_entry_original(const void *address)
{
	for (unsigned i = 0; i < WRAPPERS; i++) {
		if ((const void *)wrappers[i] == address) {
			return atomic_load(&originals[i]);
		}
	}
	return NULL;
}
