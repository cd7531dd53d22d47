/* stack_table.h: `report --by stack`: from where functions were called, the most expensive first.
 */
#ifndef HK_CLI_TABLES_STACK_TABLE_H
#define HK_CLI_TABLES_STACK_TABLE_H

#include <stdio.h>

#include "cli/tables/stack_rows.h"

/* Each writes ROWS to OUTPUT: as text the first 20 with their frames, innermost first; as JSON, CSV
 * and folded stacks all. CSV has one field of frames joined by ";", outermost first. A folded stack
 * is a line of such frames, the function called, and the time of its calls in ns. Return 0, or
 * -EIO.
 */
int hk_stack_table_write_text(const struct hk_stack_rows *rows, FILE *output, bool colour);
int hk_stack_table_write_json(const struct hk_stack_rows *rows, FILE *output);
int hk_stack_table_write_csv(const struct hk_stack_rows *rows, FILE *output);
int hk_stack_table_write_folded(const struct hk_stack_rows *rows, FILE *output);

#endif
