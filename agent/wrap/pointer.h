/* pointer.h: the addresses of functions that the host asks for by name.
 *
 * What dlsym or a driver's look-up gave is exchanged for a thunk or wrapper of ours where a hook
 * wants it and the exchange is safe; what a hook wants and gets nevertheless as it was is counted
 * as escaped. Takes the loader's lock; keeps errno; never changes what dlerror says.
 */
#ifndef HK_AGENT_WRAP_POINTER_H
#define HK_AGENT_WRAP_POINTER_H

#include <stdbool.h>

/* Whether an address asked for as NAME may have to be exchanged. */
bool hk_pointer_wanted(const char *name);

/* What CALLER, a return address, gets for ADDRESS, which dlsym or dlvsym gave for NAME. */
void *hk_pointer_of_symbol(const char *name, void *address, const void *caller);

/* The same for ADDRESS that an entry point function (entry.h) gave for NAME, which stands for one
 * of several versions: "cuMemAlloc" for cuMemAlloc_v2. */
void *hk_pointer_of_entry(const char *name, void *address, const void *caller);

#endif
