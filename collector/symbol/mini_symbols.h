/* mini_symbols.h: the compressed symbol table that some distributions leave in stripped files, in
 * section .gnu_debugdata: an ELF file of its own, with the functions that the file does not export.
 *
 * No state.
 */
#ifndef HK_COLLECTOR_SYMBOL_MINI_SYMBOLS_H
#define HK_COLLECTOR_SYMBOL_MINI_SYMBOLS_H

#include "elf/elf_file.h"

/* Opens the compressed table of FILE. Returns 0, -ENOENT if there is none, -ENOEXEC if it is
 * damaged or too large, or -errno. */
int hk_mini_symbols_open(const struct hk_elf *file, struct hk_elf *ret_mini);

#endif
