#include "cli/compare/foreign/csv/msprobe_side.h"

#include <stdio.h>
#include <string.h>

#define ABSENT "N/A"

static const struct hk_dump_row *row_of(const struct hk_msprobe_line *line, bool of_b)
{
	return !of_b ? &line->a : line->b_name ? &line->b : NULL;
}

static const char *scalar_of(const struct hk_msprobe_line *line, bool of_b)
{
	return of_b ? line->b_scalar : line->a_scalar;
}

void hk_msprobe_side_figure(struct hk_figure_cell *cell, const struct hk_msprobe_line *line,
			    bool of_b, enum hk_figure which)
{
	const char *scalar = scalar_of(line, of_b);

	if (scalar) {
		hk_figure_of_scalar(cell, scalar);
	} else {
		hk_figure_of_tensor(cell, row_of(line, of_b), which);
	}
}

const char *hk_msprobe_side_dtype(char text[HK_FIGURE_BYTES], const struct hk_msprobe_line *line,
				  bool of_b)
{
	const struct hk_dump_row *row = row_of(line, of_b);
	const char *scalar = scalar_of(line, of_b);

	if (scalar) {
		snprintf(text, HK_FIGURE_BYTES, "%s", hk_figure_class(scalar));
	} else if (row) {
		snprintf(text, HK_FIGURE_BYTES, "torch.%s", hk_dtype_name(row->dtype));
	} else {
		snprintf(text, HK_FIGURE_BYTES, ABSENT);
	}
	return text;
}

const char *hk_msprobe_side_shape(char text[HK_CSV_SHAPE_BYTES], const struct hk_msprobe_line *line,
				  bool of_b)
{
	const struct hk_dump_row *row = row_of(line, of_b);
	const char *scalar = scalar_of(line, of_b);

	if (!row || (scalar && !strcmp(scalar, "None"))) {
		return ABSENT;
	}
	return hk_csv_shape(text, row);
}

const char *hk_msprobe_side_requires_grad(const struct hk_msprobe_line *line, bool of_b)
{
	const struct hk_dump_row *row = row_of(line, of_b);

	if (!row || scalar_of(line, of_b)) {
		return ABSENT;
	}
	return row->flags & HK_DUMP_REQUIRES_GRAD ? "True" : "False";
}
