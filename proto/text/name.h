/* name.h: text that came from traced processes made fit to be shown.
 *
 * Names of functions, libraries, hosts and commands may hold anything: escape codes, control
 * bytes, broken UTF-8, letters that reverse the line. Pure functions, any thread.
 */
#ifndef HK_TEXT_NAME_H
#define HK_TEXT_NAME_H

#include <stddef.h>

/* Bytes that hold `columns` characters of any name, NUL included. */
#define HK_NAME_BYTES(columns) ((columns)*4 + 1)

/* Copies `name` as at most `columns` printable characters into `text` (HK_NAME_BYTES(columns)
 * bytes), with '?' for whatever must not reach a terminal and "~" last when it was cut. Returns the
 * number of characters. */
size_t hk_name_print(char *text, size_t columns, const char *name);

/* As hk_name_print, but keeps the end: long paths differ there. */
size_t hk_name_print_end(char *text, size_t columns, const char *name);

/* What follows the last '/' of a path. */
const char *hk_name_base(const char *path);

/* `name` as valid UTF-8, broken bytes as U+FFFD; the caller frees it. NULL without memory. */
char *hk_name_utf8(const char *name);

#endif
