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

/* ---- for other tables ---- */

#define HK_STACK_TABLE_FRAMES \
	512u /* frames of one stack; the agent keeps fewer: 256 native, 240 of Python */

/* Writes the numbers of the frames of STACK, innermost first. Returns how many there are. */
size_t hk_stack_table_frames(const Hk__Process *process, uint32_t stack,
			     uint32_t ret_numbers[HK_STACK_TABLE_FRAMES]);

/* Writes a line for each function at frame NUMBER of PROCESS, which exists. The first one is line
 * LINE of its stack. Returns the number of the next line. */
size_t hk_stack_table_write_frame(const Hk__Process *process, uint32_t number, size_t line,
				  FILE *output);

#endif
