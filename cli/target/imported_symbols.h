/* imported_symbols.h: the functions that a program and its linked libraries import, and suggestions
 * for mistyped names. Reads files, and asks the program's loader for its libraries; the program
 * itself does not run. Libraries that it opens later are not known. Locked by the caller. */
#ifndef HK_CLI_TARGET_IMPORTED_SYMBOLS_H
#define HK_CLI_TARGET_IMPORTED_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

struct hk_imported_symbols;

/* Reads the imports of the dynamic program PATH. Returns 0, -ENOEXEC if the file is invalid,
 * -ENOMEM, or another -errno. */
int hk_imported_symbols_new(const char *path, struct hk_imported_symbols **ret_imports);
void hk_imported_symbols_free(struct hk_imported_symbols *imports);

bool hk_imported_symbols_has(const struct hk_imported_symbols *imports, const char *function);

/* Returns whether the program itself defines FUNCTION: its own calls of it use no slot and cannot
 * be traced. Returns false for a stripped program. */
bool hk_imported_symbols_defines(const struct hk_imported_symbols *imports, const char *function);

/* Fills NAMES with up to LIMIT imports that resemble FUNCTION, the nearest first: mistyped names,
 * or names decorated by C++ or Fortran. Returns their number. The names live as long as IMPORTS. */
size_t hk_imported_symbols_nearest(const struct hk_imported_symbols *imports, const char *function,
				   const char **names, size_t limit);

#endif
