/* arena.h: the agent's own memory, taken by mmap and never freed while the process lives.
 *
 * The agent must not call malloc: it may be inside the host's. Thread-safe and async-signal-safe
 * (atomic bump, raw mmap).
 */
#ifndef HK_AGENT_MEMORY_ARENA_H
#define HK_AGENT_MEMORY_ARENA_H

#include <stddef.h>

/* BYTES zeroed bytes aligned to 64, or NULL. */
void *hk_arena_take(size_t bytes);

/* Returns a copy of TEXT that lives as long as the process, or NULL. */
const char *hk_arena_text(const char *text);

#endif
