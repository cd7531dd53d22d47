/* kernel_table.h: `report --by kernel`: what was launched, how often, with which grid, from where.
 */
#ifndef HK_CLI_TABLES_KERNEL_TABLE_H
#define HK_CLI_TABLES_KERNEL_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/tables/kernel_rows.h"

/* Each writes ROWS to OUTPUT: as text the first 40 with their most frequent grid and block, then
 * the stacks of those that have some; as JSON all; as CSV a line for each kernel and shape. Return
 * 0 or -errno. */
int hk_kernel_table_write_text(const struct hk_kernel_rows *rows, FILE *output, bool colour);
int hk_kernel_table_write_json(const struct hk_kernel_rows *rows, FILE *output);
int hk_kernel_table_write_csv(const struct hk_kernel_rows *rows, FILE *output);

#endif
