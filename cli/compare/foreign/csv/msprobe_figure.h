/* msprobe_figure.h: the figures of a row as msprobe shows and compares them: max, min, mean and
 * norm of a tensor, with NaN and Inf as torch has them, or the value of what is no tensor. Pure. */
#ifndef HK_CLI_COMPARE_FOREIGN_CSV_MSPROBE_FIGURE_H
#define HK_CLI_COMPARE_FOREIGN_CSV_MSPROBE_FIGURE_H

#include "dump/dump.h"

#define HK_FIGURE_BYTES 128

enum hk_figure_kind {
	HK_FIGURE_NUMBER,
	HK_FIGURE_NAN, /* NaN, or None */
	HK_FIGURE_INF,
	HK_FIGURE_MINUS_INF,
	HK_FIGURE_DEVICE, /* a text with the name of a device */
	HK_FIGURE_ABSENT, /* no such row on this side */
	HK_FIGURE_OTHER
};

enum hk_figure { HK_FIGURE_MAX, HK_FIGURE_MIN, HK_FIGURE_MEAN, HK_FIGURE_NORM, HK_FIGURES };

struct hk_figure_cell {
	enum hk_figure_kind kind;
	double number;		    /* NUMBER */
	char text[HK_FIGURE_BYTES]; /* as its column has it */
};

/* The figure WHICH of ROW, a tensor; "N/A" for NULL. */
void hk_figure_of_tensor(struct hk_figure_cell *cell, const struct hk_dump_row *row,
			 enum hk_figure which);

/* The value TEXT, as a row's scalar has it, which is all four of its figures. */
void hk_figure_of_scalar(struct hk_figure_cell *cell, const char *text);

/* The class of the value TEXT, "<class 'int'>"; "N/A" for None. */
const char *hk_figure_class(const char *text);

/* Writes the difference of A and B, and relative to B in percent, by msprobe's rules for what is no
 * number. Returns the relative one as a share; NaN if it is none. */
double hk_figure_difference(const struct hk_figure_cell *a, const struct hk_figure_cell *b,
			    char difference[HK_FIGURE_BYTES], char relative[HK_FIGURE_BYTES]);

#endif
