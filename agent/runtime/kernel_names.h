/* kernel_names.h: which kernel each function of the host launches, as objects registered it.
 *
 * An object registers its kernels from a constructor, with the addresses of a function and of a
 * name in the object itself. Only these two words are kept. Look-ups and additions take no lock.
 * General registers only.
 */
#ifndef HK_AGENT_RUNTIME_KERNEL_NAMES_H
#define HK_AGENT_RUNTIME_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/object/object.h"

/* Notes that FUNCTION launches the kernel called NAME. Returns false if that needs more room. */
bool hk_kernel_names_add(uint64_t function, const char *name);

/* Makes room for more names, if there are not too many. Takes memory. */
void hk_kernel_names_grow(void);

/* Returns the name, in the memory of the object that registered it, or NULL if FUNCTION is not
 * known. */
const char *hk_kernel_names_find(uint64_t function);

/* Forgets the functions within SPAN, whose object was unloaded. */
void hk_kernel_names_forget(struct hk_span span);

#endif
