/* object_files.h: the files that objects were loaded from: functions and source lines at their
 * addresses.
 *
 * Files that were read are kept for all processes and jobs. The least recently used one is dropped
 * first. Large tables of functions are kept on disk too (table_file.h). A file of another build
 * than the process loaded names nothing. Not thread-safe.
 */
#ifndef HK_COLLECTOR_SYMBOL_OBJECT_FILES_H
#define HK_COLLECTOR_SYMBOL_OBJECT_FILES_H

#include "collector/symbol/places.h"
#include "schema/symbol.pb-c.h"

struct hk_object_files;
struct hk_object_file;

/* CACHE_FD is the directory of tables, which the result owns; -1: none. Returns NULL without
 * memory. */
struct hk_object_files *hk_object_files_new(int cache_fd);
struct hk_object_files *hk_object_files_free(struct hk_object_files *files);

/* Finds or reads the file of REQUEST: below the process's root directory, then below "/". Returns
 * 0, -ESTALE for another build, -ENOEXEC if the file is not an ELF file of this machine's kind,
 * -ENOMEM, or -errno of open. *ret_file is valid until the next call. */
int hk_object_files_open(struct hk_object_files *files, const Hk__SymbolRequest *request,
			 struct hk_object_file **ret_file);

/* Writes the functions at ADDRESS of FILE to PLACES. */
void hk_object_file_find(struct hk_object_files *files, struct hk_object_file *file,
			 uint64_t address, struct hk_places *places);

#endif
