#include "agent/patch/caller.h"

#include <string.h>

#include "hooks/pattern.h"

/* Objects whose calls are not traced. The loader and the kernel's page are never patched. The
 * others are patched only if HOOK_FROM names them: calls inside libc are not calls of the program,
 * and unwinders and sanitizers run inside the agent's frames. */
static const char *const untouchable[] = {"ld-linux*.so*", "ld-2.*.so",	      "ld64.so*",
					  "ld.so*",	   "linux-vdso*.so*", "linux-gate*.so*"};
static const char *const quiet[] = {
    "libc.so*",	    "libc-2.*.so",   "libpthread.so*", "libpthread-2.*.so", "libdl.so*",
    "libdl-2.*.so", "libm.so*",	     "libm-2.*.so",    "librt.so*",	    "librt-2.*.so",
    "libgcc_s.so*", "libunwind*",    "libasan.so*",    "libtsan.so*",	    "libubsan.so*",
    "liblsan.so*",  "libhwasan.so*", "libmsan.so*",    "libclang_rt.*"};

static bool among(const char *const *globs, size_t count, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	for (size_t i = 0; i < count; i++) {
		if (hk_pattern_match(globs[i], base)) {
			return true;
		}
	}
	return false;
}

bool hk_caller_counts(const struct hk_object *object, const char *path, const char *from)
{
	if (hk_object_executes(object, (uintptr_t)hk_caller_counts) ||
	    among(untouchable, sizeof(untouchable) / sizeof(untouchable[0]), path)) {
		return false;
	}
	bool named = from && strcmp(from, "*") != 0 && hk_pattern_match_library(from, path);
	return named || !among(quiet, sizeof(quiet) / sizeof(quiet[0]), path);
}
