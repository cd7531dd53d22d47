/* symbol_table.h: the functions of one ELF file, by address.
 *
 * A file is of the traced user's making: what in it contradicts itself is left out. Not
 * thread-safe.
 */
#ifndef HK_COLLECTOR_SYMBOL_SYMBOL_TABLE_H
#define HK_COLLECTOR_SYMBOL_SYMBOL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct hk_symbol_table;

/* A function. In table_file.c's files as it is here. */
struct hk_symbol {
	uint64_t start, end;
	uint32_t name; /* offset in `names` */
	uint32_t rank; /* of several at one address the lowest is shown */
};

/* What a table holds. */
struct hk_symbols_content {
	const struct hk_symbol *symbols; /* by address; none overlaps the next */
	size_t count;
	const char *names; /* the last byte is 0 */
	size_t names_bytes;
};

/* Reads the functions of FILE: of its symbol table, or of its dynamic one and mini_symbols.h.
 * Returns 0 or -ENOMEM. */
int hk_symbol_table_read(const struct hk_elf *file, struct hk_symbol_table **ret_table);

/* Makes a table of CONTENT, which lies in the MAPPED bytes of a mapping at BASE. Takes the mapping.
 * Returns NULL without memory: the mapping is then the caller's. */
struct hk_symbol_table *hk_symbol_table_map(const struct hk_symbols_content *content, void *base,
					    size_t mapped);

/* Frees TABLE. Accepts NULL, returns NULL. */
struct hk_symbol_table *hk_symbol_table_free(struct hk_symbol_table *table);

/* Returns the name of the function that holds ADDRESS, in the file's addresses and as the file
 * spells it, or NULL. It is valid as long as TABLE. */
const char *hk_symbol_table_find(const struct hk_symbol_table *table, uint64_t address);

/* Returns whether the names come from the dynamic table only. Functions that the file does not
 * export are then missing. */
_Bool hk_symbol_table_is_partial(const struct hk_symbol_table *table);

/* Returns what TABLE holds. It is valid as long as TABLE. */
struct hk_symbols_content hk_symbol_table_content(const struct hk_symbol_table *table);

/* Returns the bytes of memory that TABLE takes. */
size_t hk_symbol_table_bytes(const struct hk_symbol_table *table);

#endif
