/* cuda_inside.h: whether a CUDA runtime is linked into an ELF file.
 *
 * Calls of such a runtime go through no slot: the agent sees what it asks of the driver, and no
 * cuda* function. Recognised are static runtimes of CUDA 11 to 13 by texts in the read-only data.
 * Results are kept for all processes. A file is of the traced user's making, and is read with
 * bounds. Not thread-safe.
 */
#ifndef HK_COLLECTOR_SYMBOL_CUDA_INSIDE_H
#define HK_COLLECTOR_SYMBOL_CUDA_INSIDE_H

#include <stdbool.h>

struct hk_cuda_inside;

/* Returns NULL without memory. */
struct hk_cuda_inside *hk_cuda_inside_new(void);
struct hk_cuda_inside *hk_cuda_inside_free(struct hk_cuda_inside *known);

/* Returns whether a runtime is linked into the file at PATH. *RET_READ: the file had to be read.
 * Returns false for a file that is not ELF or cannot be read. */
bool hk_cuda_inside_ask(struct hk_cuda_inside *known, const char *path, bool *ret_read);

#endif
