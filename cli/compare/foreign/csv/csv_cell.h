/* csv_cell.h: cells of the comma-separated files that msprobe and ptdbg_ascend write: quoted only
 * where they must be, as Python's csv module does. Errors stay in the FILE. No state. */
#ifndef HK_CLI_COMPARE_FOREIGN_CSV_CSV_CELL_H
#define HK_CLI_COMPARE_FOREIGN_CSV_CSV_CELL_H

#include <stdio.h>

#include "dump/dump.h"

/* Writes TEXT, a number or word of ours. */
void hk_csv_cell(FILE *output, const char *text);

/* Writes TEXT from a dump: what a spreadsheet would take for a formula is made harmless. */
void hk_csv_cell_foreign(FILE *output, const char *text);

/* Writes the shape of ROW as Python prints a list: "[2, 3]". */
#define HK_CSV_SHAPE_BYTES 512
const char *hk_csv_shape(char text[HK_CSV_SHAPE_BYTES], const struct hk_dump_row *row);

#endif
