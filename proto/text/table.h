/* table.h: rows of text in aligned columns for a terminal. Cells are filled from left to right, row
 * by row; names are cleaned on the way in. Memory failures are kept and returned by hk_table_write.
 * Locked by the caller. */
#ifndef HK_TEXT_TABLE_H
#define HK_TEXT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

struct hk_table;

/* A table with these heads, "|" between: each begins with '<' or '>' (left or right aligned) and
 * may end with ":N", the most characters shown. The caller frees it. NULL if out of memory. */
struct hk_table *hk_table_new(const char *heads);

/* Frees; accepts NULL, returns NULL. */
struct hk_table *hk_table_free(struct hk_table *table);

/* Adds the next cell; a NULL table is ignored. */
__attribute__((format(printf, 2, 3))) void hk_table_add(struct hk_table *table, const char *format,
							...);

/* Whether nothing was added; true for NULL. */
bool hk_table_is_empty(const struct hk_table *table);

/* Writes heads (bold with `colour`) and rows. Returns 0, or -ENOMEM if a cell was lost or the table
 * is NULL. */
int hk_table_write(const struct hk_table *table, FILE *output, bool colour);

#endif
