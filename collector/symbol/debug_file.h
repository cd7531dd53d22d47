/* debug_file.h: finds the file with the debug information that was kept apart from a program or
 * library.
 *
 * By build id below /usr/lib/debug/.build-id, else by the file's .gnu_debuglink. Nothing is fetched
 * from a server. No state.
 */
#ifndef HK_COLLECTOR_SYMBOL_DEBUG_FILE_H
#define HK_COLLECTOR_SYMBOL_DEBUG_FILE_H

#include <limits.h>

#include "elf/elf_file.h"

/* Opens the debug file that belongs to FILE, which was opened at PATH, in the file system below
 * ROOT (empty: this one). Writes its path to RET_PATH. Returns 0, or -ENOENT if there is none. */
int hk_debug_file_open(const struct hk_elf *file, const char *root, const char *path,
		       char ret_path[PATH_MAX], struct hk_elf *ret_debug);

#endif
