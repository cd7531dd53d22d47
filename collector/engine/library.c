#include "collector/engine/library.h"

#include <dlfcn.h>
#include <stddef.h>

static struct hk_nats functions;

#ifdef HK_STATIC
static void *open_any(const char **ret_problem)
{
	*ret_problem = "nats:// needs libnats, which a static program cannot load: install "
		       "hooktrace from its packages";
	return NULL;
}
#else
/* Versions before 3.4 lack the look-up of a subject's last message. */
static void *open_any(const char **ret_problem)
{
	/* Newest first. */
	static const char *const names[] = {"libnats.so.3.12", "libnats.so.3.11", "libnats.so.3.10",
					    "libnats.so.3.9",  "libnats.so.3.8",  "libnats.so.3.7",
					    "libnats.so.3.6",  "libnats.so.3.5",  "libnats.so.3.4",
					    "libnats.so"};
	void *library = NULL;
	for (size_t i = 0; !library && i < sizeof(names) / sizeof(names[0]); i++) {
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	}
	*ret_problem = "nats:// needs libnats, which is not installed (Debian: libnats3.4)";
	return library;
}
#endif

const struct hk_nats *hk_nats_open(const char **ret_problem)
{
	static void *library;
	if (!library && !(library = open_any(ret_problem))) {
		return NULL;
	}
#define FIND(name)                                                                          \
	if (!functions.name && !(*(void **)&functions.name = dlsym(library, #name))) {      \
		*ret_problem = "this libnats has no " #name ": nats:// needs 3.4 or newer"; \
		return NULL;                                                                \
	}
	HK_NATS_FUNCTIONS(FIND)
#undef FIND
	return &functions;
}
