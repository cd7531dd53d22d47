/* memory.h: memory of which a fork wipes a part, so that a child knows itself for one.
 *
 * Taken by mmap from the kernel. None in a sealed process (record/sandbox.h).
 */
#ifndef HK_AGENT_RECORD_MEMORY_H
#define HK_AGENT_RECORD_MEMORY_H

#include <stdint.h>

/* BYTES that a fork wipes, or NULL. */
void *hk_memory_private(uint64_t bytes);

/* Memory of whose BYTES a fork wipes the first WIPED, which are at most HK_WIPE_BYTES, and no more;
 * or NULL. Its start is aligned as a page's end less WIPED is. */
#define HK_WIPE_BYTES 65536u /* whole pages, of whatever size */
void *hk_memory_divided(uint64_t bytes, uint64_t wiped);
void hk_memory_return_divided(void *memory, uint64_t bytes, uint64_t wiped);

#endif
