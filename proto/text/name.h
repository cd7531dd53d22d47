/* name.h: makes text from traced processes safe to show. Names of functions, libraries, hosts and
 * commands may hold anything: escape codes, control bytes, broken UTF-8, letters that reverse the
 * line. Pure functions, any thread. */
#ifndef HK_TEXT_NAME_H
#define HK_TEXT_NAME_H

#include <stddef.h>

/* Bytes that hold `columns` characters of any name, NUL included. */
#define HK_NAME_BYTES(columns) ((columns)*4 + 1)

/* Copies `name` as at most `columns` printable characters into `text` (HK_NAME_BYTES(columns)
 * bytes), with '?' for each character that must not reach a terminal, and "~" at the end if it was
 * cut. Returns the number of characters. */
size_t hk_name_print(char *text, size_t columns, const char *name);

/* As hk_name_print. A function's name of C++ is shown as its source has it, without parameters. */
size_t hk_name_print_function(char *text, size_t columns, const char *name);

/* As hk_name_print, but keeps the end: long paths differ there. */
size_t hk_name_print_end(char *text, size_t columns, const char *name);

/* The part of a path after the last '/'; all of it without a '/', or if it ends with one. */
const char *hk_name_base(const char *path);

/* `name` as valid UTF-8, broken bytes as U+FFFD; the caller frees it. NULL if out of memory. */
char *hk_name_utf8(const char *name);

#endif
