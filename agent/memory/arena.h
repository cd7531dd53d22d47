/* arena.h: the agent's own memory, taken by mmap, most of it until the process ends.
 *
 * The agent must not call malloc: it may be inside the host's. Thread-safe and async-signal-safe
 * (atomic bump, raw mmap).
 */
#ifndef HK_AGENT_MEMORY_ARENA_H
#define HK_AGENT_MEMORY_ARENA_H

#include <stddef.h>

#define HK_ARENA_SHARED_MOST 65536u /* bytes; what is larger is a mapping of its own */

/* BYTES zeroed bytes aligned to 64, or NULL. */
void *hk_arena_take(size_t bytes);

/* Returns the BYTES at MEMORY, more than HK_ARENA_SHARED_MOST, to the system. No thread may use
 * them any more.
 */
void hk_arena_give(void *memory, size_t bytes);

/* Returns a copy of TEXT that lives as long as the process, or NULL. */
const char *hk_arena_text(const char *text);

#endif
