/* utf8.h: makes names from traced processes fit for formats that accept valid UTF-8 only. Pure
 * functions, thread-safe. */
#ifndef HK_TEXT_UTF8_H
#define HK_TEXT_UTF8_H

#include <stddef.h>

/* Bytes (1..4) of the valid character at TEXT, which is NUL-terminated; 0 for invalid UTF-8 or the
 * terminating NUL. */
size_t hk_utf8_length(const char *text);

/* Copies TEXT into BUFFER of SIZE > 0 bytes, each invalid byte replaced by U+FFFD, cut at a
 * character's edge; always NUL-terminated. Returns the length of the copy. */
size_t hk_utf8_copy(const char *text, char *buffer, size_t size);

#endif
