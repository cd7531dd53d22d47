/* lookup.h: what the host's dlsym and dlvsym do.
 *
 * The loader asks where such a call comes from, so it is made from a frame of ours only when that
 * cannot matter; the stubs in dl_*.S do the rest by a jump to the original.
 */
#ifndef HK_AGENT_WRAP_LOOKUP_H
#define HK_AGENT_WRAP_LOOKUP_H

#include <stdint.h>

/* Returned in two registers, for assembly. */
struct hk_lookup {
	void *address;
	uintptr_t done; /* 0: jump to the original, which does it all */
};

/* dlsym(HANDLE, NAME) or, if VERSION is not NULL, dlvsym, called from CALLER. */
struct hk_lookup hk_lookup_symbol(void *handle, const char *name, const char *version,
				  const void *caller);

#endif
