/* msprobe_side.h: one side of a line of msprobe's file as text. Pure. */
#ifndef HK_CLI_COMPARE_FOREIGN_CSV_MSPROBE_SIDE_H
#define HK_CLI_COMPARE_FOREIGN_CSV_MSPROBE_SIDE_H

#include "cli/compare/foreign/csv/csv_cell.h"
#include "cli/compare/foreign/csv/msprobe_lines.h"

/* The figure WHICH of a side of LINE. */
void hk_msprobe_side_figure(struct hk_figure_cell *cell, const struct hk_msprobe_line *line,
			    bool of_b, enum hk_figure which);

/* The dtype, or the class of a value; "N/A" for None and without a row. */
const char *hk_msprobe_side_dtype(char text[HK_FIGURE_BYTES], const struct hk_msprobe_line *line,
				  bool of_b);
const char *hk_msprobe_side_shape(char text[HK_CSV_SHAPE_BYTES], const struct hk_msprobe_line *line,
				  bool of_b);
const char *hk_msprobe_side_requires_grad(const struct hk_msprobe_line *line, bool of_b);

#endif
