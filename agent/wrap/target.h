/* target.h: whether the agent can be preloaded into a program, by its file.
 *
 * By system calls alone, from any thread, also in a vfork child.
 */
#ifndef HK_AGENT_WRAP_TARGET_H
#define HK_AGENT_WRAP_TARGET_H

#include <stdbool.h>

#include "ring/segment.h"

#define HK_TARGET_PATH_BYTES 512u

/* Sets PATH to the file that the C library would execute for NAME: NAME itself if it has a slash,
 * else the first executable one in the directories of SEARCH, the value of PATH. Returns false if
 * there is none, or its path is too long. */
bool hk_target_find(const char *name, const char *search, char path[HK_TARGET_PATH_BYTES]);

/* Returns the reason why the loader of the program at PATH will not load the agent, whatever its
 * environment, or 0. A script is judged by its interpreter. Returns 0 for what cannot be read. */
enum hk_bare_reason hk_target_reason(const char *path);

#endif
