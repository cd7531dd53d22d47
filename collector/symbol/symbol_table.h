/* symbol_table.h: the functions of one ELF file, by address, read with libelf.
 *
 * A file is of the traced user's making: what in it contradicts itself is left out. Not
 * thread-safe.
 */
#ifndef HK_COLLECTOR_SYMBOL_SYMBOL_TABLE_H
#define HK_COLLECTOR_SYMBOL_SYMBOL_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct hk_symbol_table;

/* Reads the functions of the file at PATH: of its symbol table, or of its dynamic one. If
 * BUILD_ID_BYTES is not 0 the file must have that build id. Returns 0; -ESTALE if it is another
 * file; -ENOEXEC if it is no ELF file of this machine's kind; -ENOMEM; or -errno of open. */
int hk_symbol_table_read(const char *path, const uint8_t *build_id, size_t build_id_bytes,
			 struct hk_symbol_table **ret_table);

/* Frees TABLE. Accepts NULL, returns NULL. */
struct hk_symbol_table *hk_symbol_table_free(struct hk_symbol_table *table);

/* Returns the name of the function that holds ADDRESS, in the file's addresses and as the file
 * spells it, or NULL. It lives as long as TABLE. */
const char *hk_symbol_table_find(const struct hk_symbol_table *table, uint64_t address);

/* Whether the names come from the dynamic table only: functions that the file does not export are
 * missing. */
_Bool hk_symbol_table_is_partial(const struct hk_symbol_table *table);

/* Bytes of memory that TABLE takes. */
size_t hk_symbol_table_bytes(const struct hk_symbol_table *table);

#endif
