/* lookup.h: the host's calls of dlsym and dlvsym.
 *
 * The loader looks at the caller, so the agent calls the original itself only if the caller does
 * not matter. Otherwise the stubs in dl_*.S jump to the original.
 */
#ifndef HK_AGENT_WRAP_LOOKUP_H
#define HK_AGENT_WRAP_LOOKUP_H

#include <stdint.h>

/* Returned in two registers, for assembly. */
struct hk_lookup {
	void *address;
	uintptr_t done; /* 0: jump to the original, which does it all */
};

/* Handles dlsym(HANDLE, NAME), or dlvsym if VERSION is not NULL, called from CALLER. */
struct hk_lookup hk_lookup_symbol(void *handle, const char *name, const char *version,
				  const void *caller);

#endif
