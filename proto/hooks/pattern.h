/* pattern.h: globs over library paths and symbol names.
 *
 * `*` is any run of bytes, `?` any one byte; there is nothing else and no escape. Used by the agent
 * for every undefined symbol of every object at load time, so it is iterative, allocates nothing
 * and calls nothing of libc's locale machinery. Pure functions, any thread.
 */
#ifndef HK_HOOKS_PATTERN_H
#define HK_HOOKS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#define HK_PATTERN_LIBRARY_MAX 255u /* bytes of a library's glob in a pattern */

/* Whether `glob` covers the whole of `text`. Work is bounded by the product of the two lengths. */
bool hk_pattern_match(const char *glob, const char *text);

/* Whether `glob` covers the library at `path`: its full path, its base name, or, for a glob without
 * wildcards, a base name that continues it with a dot ("libfoo.so" covers
 * "/usr/lib/libfoo.so.1.2"). */
bool hk_pattern_match_library(const char *glob, const char *path);

/* Splits "library:symbol" of `length` bytes at its last colon: `*ret_colon` is the colon's offset.
 * -EINVAL when there is no colon or one side is empty. */
int hk_pattern_split(const char *text, size_t length, size_t *ret_colon);

/* Whether `pattern`, "library:symbol" or "symbol" alone, covers `function` as the library at
 * `provider` defines it ("" unknown: only "*" covers that). */
bool hk_pattern_match_function(const char *pattern, const char *provider, const char *function);

#endif
