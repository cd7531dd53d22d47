/* memory_table.h: memory per allocating library, device and kind, all ranks together. */
#ifndef HK_CLI_TABLES_MEMORY_TABLE_H
#define HK_CLI_TABLES_MEMORY_TABLE_H

#include <stdio.h>

#include "report/model/report.h"

struct hk_memory_table;

/* Sums the rows of REPORT, which must outlive the table. Returns 0 or -ENOMEM. */
int hk_memory_table_new(const struct hk_report *report, struct hk_memory_table **ret_table);
/* Frees TABLE. Accepts NULL, returns NULL. */
struct hk_memory_table *hk_memory_table_free(struct hk_memory_table *table);

/* Writes TABLE by library, device and kind; "*" is the sum of libraries. Returns 0, -EIO or
 * -ENOMEM. */
int hk_memory_table_write_text(const struct hk_memory_table *table, FILE *output, bool colour);
/* Writes {"memory": [...]}. Returns 0 or -EIO. */
int hk_memory_table_write_json(const struct hk_memory_table *table, FILE *output);
int hk_memory_table_write_csv(const struct hk_memory_table *table, FILE *output);

#endif
