/* pointer.h: exchanges the addresses of functions that the host looks up by name.
 *
 * An address from dlsym or a driver's look-up is exchanged for a thunk or a wrapper if a hook wants
 * it and the exchange is safe. An address that a hook wants and that is not exchanged counts as
 * escaped. Takes the loader's lock; keeps errno; never changes the state of dlerror.
 */
#ifndef HK_AGENT_WRAP_POINTER_H
#define HK_AGENT_WRAP_POINTER_H

#include <stdbool.h>

/* Returns whether an address looked up as NAME may have to be exchanged. */
bool hk_pointer_wanted(const char *name);

/* Returns the address for CALLER, a return address, in place of ADDRESS, which dlsym or dlvsym gave
 * for NAME. */
void *hk_pointer_of_symbol(const char *name, void *address, const void *caller);

/* The same for ADDRESS that an entry point function (entry.h) gave for NAME, which stands for one
 * of several versions: "cuMemAlloc" for cuMemAlloc_v2. */
void *hk_pointer_of_entry(const char *name, void *address, const void *caller);

#endif
