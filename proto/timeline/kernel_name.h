/* kernel_name.h: names of kernels for people. A name comes from a traced process and may hold
 * anything. Pure functions. */
#ifndef HK_TIMELINE_KERNEL_NAME_H
#define HK_TIMELINE_KERNEL_NAME_H

#include <stddef.h>

#include "schema/wire.pb-c.h"

#define HK_KERNEL_SHORT_BYTES 256u

/* Returns the kernel with NUMBER of PROCESS, or NULL. */
const Hk__Kernel *hk_kernel_find(const Hk__Process *process, uint64_t number);

/* Writes NAME as its source code has it, with template arguments and parameters, cut to SIZE. */
void hk_kernel_name_whole(const char *name, char *text, size_t size);

/* Writes NAME without namespaces, parameters and result: "elementwise_kernel<4, FillFunctor<float>
 * >". */
void hk_kernel_name_short(const char *name, char *text, size_t size);

/* Writes the short name of KERNEL. It is never empty: a kernel without a name has an address, NULL
 * is "(unknown)". */
void hk_kernel_label(const Hk__Kernel *kernel, char text[HK_KERNEL_SHORT_BYTES]);

#endif
