/* entry.h: wrappers around the functions by which CUDA hands out the driver's functions.
 *
 * cuGetProcAddress, cudaGetDriverEntryPoint and their newer forms take a name and the address of a
 * pointer first; the wrappers pass on whatever follows and exchange the pointer they gave. A
 * wrapper belongs to one original; there may be several, of runtimes linked into libraries.
 */
#ifndef HK_AGENT_PATCH_ENTRY_H
#define HK_AGENT_PATCH_ENTRY_H

#include <stdbool.h>

#include "agent/object/object.h"

/* What CALLER, a return address, gets for ADDRESS, which an entry point function gave for NAME. */
typedef void *(*hk_entry_exchange)(const char *name, void *address, const void *caller);

/* The wrappers exchange pointers by WITH. Once, before the first scan. */
void hk_entry_start(hk_entry_exchange with);

/* Whether functions called NAME need such a wrapper. */
bool hk_entry_named(const char *name);

/* A function that calls ORIGINAL, the same one as long as that is loaded. NULL: no wrapper left. */
void *hk_entry_wrap(void *original);

/* The originals within SPAN are no more: their wrappers are free for others. */
void hk_entry_forget(struct hk_span span);

/* Returns the function that the wrapper at ADDRESS calls, or NULL if there is no wrapper. */
void *hk_entry_original(const void *address);

#endif
