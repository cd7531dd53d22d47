/* entry.h: wrappers around the functions by which CUDA hands out the driver's functions.
 *
 * cuGetProcAddress, cudaGetDriverEntryPoint and their newer forms take a name and the address of a
 * pointer first. The wrappers forward all further arguments and exchange the pointer in the result.
 * A wrapper belongs to one original; there may be several, of runtimes that are linked into
 * libraries.
 */
#ifndef HK_AGENT_PATCH_ENTRY_H
#define HK_AGENT_PATCH_ENTRY_H

#include <stdbool.h>

#include "agent/object/object.h"

/* Returns the address for CALLER, a return address, in place of ADDRESS, which an entry point
 * function gave for NAME. */
typedef void *(*hk_entry_exchange)(const char *name, void *address, const void *caller);

/* Sets the function by which wrappers exchange pointers. Once, before the first scan. */
void hk_entry_start(hk_entry_exchange with);

/* Whether functions called NAME need such a wrapper. */
bool hk_entry_named(const char *name);

/* Returns a wrapper of ORIGINAL, the same one as long as that is loaded, or NULL if no wrapper is
 * free. */
void *hk_entry_wrap(void *original);

/* Frees the wrappers of originals within SPAN, which were unloaded. */
void hk_entry_forget(struct hk_span span);

/* Returns the function that the wrapper at ADDRESS calls, or NULL if there is no wrapper. */
void *hk_entry_original(const void *address);

#endif
