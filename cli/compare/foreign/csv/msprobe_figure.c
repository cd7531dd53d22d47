#include "cli/compare/foreign/csv/msprobe_figure.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/compare/foreign/python_text.h"

static void cell_set(struct hk_figure_cell *cell, enum hk_figure_kind kind, const char *text)
{
	*cell = (struct hk_figure_cell){.kind = kind};
	snprintf(cell->text, sizeof(cell->text), "%s", text);
}

static void number_set(struct hk_figure_cell *cell, double number, bool integer)
{
	char text[HK_PYTHON_NUMBER_BYTES];

	if (isnan(number)) {
		cell_set(cell, HK_FIGURE_NAN, "Nan");
	} else if (isinf(number)) {
		/* The blank keeps spreadsheets from reading a name of a function. */
		cell_set(cell, number > 0 ? HK_FIGURE_INF : HK_FIGURE_MINUS_INF,
			 number > 0 ? " inf" : " -inf");
	} else if (integer) {
		snprintf(text, sizeof(text), "%.0f", number);
		cell_set(cell, HK_FIGURE_NUMBER, text);
	} else {
		cell_set(cell, HK_FIGURE_NUMBER, hk_python_number(text, number));
	}
	cell->number = number;
}

/* The figure with what rows keep apart: NaN and Inf. */
static double figure_number(const struct hk_statistics *known, enum hk_figure which)
{
	bool up = known->positive_infs > 0, down = known->negative_infs > 0;

	if (known->nans > 0) {
		return NAN;
	}
	switch (which) {
	case HK_FIGURE_MAX:
		return up ? INFINITY : down && isnan(known->max) ? -INFINITY : known->max;
	case HK_FIGURE_MIN:
		return down ? -INFINITY : up && isnan(known->min) ? INFINITY : known->min;
	case HK_FIGURE_MEAN:
		return up && down ? NAN : up ? INFINITY : down ? -INFINITY : known->mean;
	default:
		return up || down ? INFINITY : known->l2;
	}
}

static bool is_integer(enum hk_dtype dtype)
{
	return dtype >= HK_DTYPE_U8 && dtype <= HK_DTYPE_I64;
}

void hk_figure_of_tensor(struct hk_figure_cell *cell, const struct hk_dump_row *row,
			 enum hk_figure which)
{
	if (!row) {
		cell_set(cell, HK_FIGURE_ABSENT, "N/A");
		return;
	}
	bool is_bool = row->dtype == HK_DTYPE_BOOL, late = which >= HK_FIGURE_MEAN;
	double number = figure_number(&row->statistics, which);
	if (row->statistics.count == 0 || (row->flags & HK_DUMP_NO_STATISTICS) ||
	    (late && (is_bool || (is_integer(row->dtype) && row->dimensions > 0)))) {
		cell_set(cell, HK_FIGURE_NAN, "None");
	} else if (is_bool) {
		cell_set(cell, HK_FIGURE_OTHER, number != 0 ? "True" : "False");
	} else {
		number_set(cell, number, is_integer(row->dtype));
	}
}

static bool names_device(const char *text)
{
	return strcasestr(text, "npu") || strcasestr(text, "cpu") || strcasestr(text, "cuda");
}

static bool is_quoted(const char *text)
{
	size_t length = strlen(text);

	return length > 1 && text[0] == '\'' && text[length - 1] == '\'';
}

static bool is_number(const char *text, bool *ret_integer)
{
	char *end;

	strtod(text, &end);
	*ret_integer = strspn(text + (*text == '-'), "0123456789") == strlen(text) - (*text == '-');
	return *text && !*end &&
	       (isdigit((unsigned char)text[strlen(text) - 1]) || !strcasecmp(text, "nan") ||
		strstr(text, "inf"));
}

void hk_figure_of_scalar(struct hk_figure_cell *cell, const char *text)
{
	bool integer;

	if (!strcmp(text, "None")) {
		cell_set(cell, HK_FIGURE_NAN, text);
	} else if (is_quoted(text)) {
		cell_set(cell, names_device(text) ? HK_FIGURE_DEVICE : HK_FIGURE_OTHER, text + 1);
		cell->text[strlen(cell->text) - 1] = 0;
	} else if (is_number(text, &integer)) {
		number_set(cell, strtod(text, NULL), integer);
	} else {
		cell_set(cell, names_device(text) ? HK_FIGURE_DEVICE : HK_FIGURE_OTHER, text);
	}
}

const char *hk_figure_class(const char *text)
{
	bool integer;

	if (!strcmp(text, "None")) {
		return "N/A";
	}
	if (!strcmp(text, "True") || !strcmp(text, "False")) {
		return "<class 'bool'>";
	}
	if (!is_quoted(text) && is_number(text, &integer)) {
		return integer ? "<class 'int'>" : "<class 'float'>";
	}
	return "<class 'str'>";
}

/* The difference of two figures of which one is no number. */
static const char *word_of(const struct hk_figure_cell *a, const struct hk_figure_cell *b)
{
	if (a->kind == HK_FIGURE_ABSENT || b->kind == HK_FIGURE_ABSENT ||
	    (a->kind == HK_FIGURE_DEVICE && b->kind == HK_FIGURE_DEVICE)) {
		return "N/A";
	}
	if (a->kind >= HK_FIGURE_DEVICE || b->kind >= HK_FIGURE_DEVICE) {
		return "Diff";
	}
	if (a->kind == HK_FIGURE_NAN || b->kind == HK_FIGURE_NAN) {
		return "Nan";
	}
	return a->kind == HK_FIGURE_INF || b->kind == HK_FIGURE_MINUS_INF ? "inf" : "-inf";
}

double hk_figure_difference(const struct hk_figure_cell *a, const struct hk_figure_cell *b,
			    char difference[HK_FIGURE_BYTES], char relative[HK_FIGURE_BYTES])
{
	char text[HK_PYTHON_NUMBER_BYTES];

	if (!strcmp(a->text, b->text)) {
		bool absent = a->kind == HK_FIGURE_ABSENT;
		snprintf(difference, HK_FIGURE_BYTES, "%s", absent ? "N/A" : "0");
		snprintf(relative, HK_FIGURE_BYTES, "%s", difference);
		return NAN;
	}
	if (a->kind != HK_FIGURE_NUMBER || b->kind != HK_FIGURE_NUMBER) {
		snprintf(difference, HK_FIGURE_BYTES, "%s", word_of(a, b));
		snprintf(relative, HK_FIGURE_BYTES, "%s", difference);
		return NAN;
	}
	snprintf(difference, HK_FIGURE_BYTES, "%s", hk_python_number(text, a->number - b->number));
	if (b->number == 0) {
		snprintf(relative, HK_FIGURE_BYTES, "inf");
		return NAN;
	}
	double percent = fabs((a->number - b->number) / b->number * 100);
	snprintf(relative, HK_FIGURE_BYTES, "%s%%", hk_python_number(text, percent));
	return percent / 100;
}
