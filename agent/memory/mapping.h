/* mapping.h: memory taken from the kernel, and memory that a fork wipes. */
#ifndef HK_AGENT_MEMORY_MAPPING_H
#define HK_AGENT_MEMORY_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

/* Returns BYTES of zeros at or near HINT, which may be 0, with PROTECTION (PROT_*), or NULL. */
char *hk_mapping_make(uint64_t hint, uint64_t bytes, int protection);

/* Gives back BYTES at MEMORY, which may be NULL. */
void hk_mapping_remove(char *memory, uint64_t bytes);

/* Replaces BYTES at START, which are mapped, by zeros of this process alone. */
void hk_mapping_clear(char *start, uint64_t bytes);

/* A child of this process finds zeros in BYTES at MEMORY. Returns false if the kernel cannot do it.
 */
bool hk_mapping_wipe_on_fork(char *memory, uint64_t bytes);

/* Returns BYTES that a fork wipes, so that a child can detect the fork, or NULL. */
void *hk_mapping_private(uint64_t bytes);

#endif
