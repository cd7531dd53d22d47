/* table_file.h: tables of functions on disk, so that the next collector does not read large files
 * again.
 *
 * They are in hooktrace/symbols below $XDG_CACHE_HOME or ~/.cache, one for each build id. The
 * directory has a limit: the tables that were not used for the longest time are removed. If it
 * cannot be written, nothing is kept. Files in it are not trusted. Not thread-safe.
 */
#ifndef HK_COLLECTOR_SYMBOL_TABLE_FILE_H
#define HK_COLLECTOR_SYMBOL_TABLE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "collector/symbol/symbol_table.h"

#define HK_TABLE_FILES_BYTES_MOST (256u << 20) /* of all files */

/* Opens the directory, which it makes if need be. Returns a descriptor, -ENOENT if the user has no
 * home, -EPERM if it has another owner or others may write to it, or -errno. */
int hk_table_files_open(void);

/* Maps the table of BUILD_ID from directory DIRFD. Returns 0, -ENOENT, -EBADMSG if it is damaged or
 * of another version, -EPERM if it has another owner, -ENOMEM, or -errno. */
int hk_table_file_load(int dirfd, const uint8_t *build_id, size_t build_id_bytes,
		       struct hk_symbol_table **ret_table);

/* Stores TABLE whole or not at all, and keeps the directory within its limit. Returns 0 or -errno.
 */
int hk_table_file_store(int dirfd, const uint8_t *build_id, size_t build_id_bytes,
			const struct hk_symbol_table *table);

#endif
