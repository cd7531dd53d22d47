/* cell.h: one cell of a table and its text form. A cell holds a number or a text, twice: the
 * present value or rate per second, and the total since the job's start. NAN and NULL print as "-":
 * not measured or not applicable. Pure functions. */
#ifndef HK_CLI_TUI_CELL_H
#define HK_CLI_TUI_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/tui/history.h"

enum hk_cell_kind {
	HK_CELL_NAME,	 /* left-aligned text that takes the remaining room */
	HK_CELL_TEXT,	 /* left-aligned text */
	HK_CELL_COUNT,	 /* short: "1.9M" */
	HK_CELL_INTEGER, /* all digits, as far as they fit */
	HK_CELL_PERCENT,
	HK_CELL_RATIO,
	HK_CELL_NS,
	HK_CELL_BYTES,
	HK_CELL_SPARK, /* sparkline of the row's track */
};

struct hk_column {
	const char *title, *total_title; /* NULL: the same as `title` */
	enum hk_cell_kind kind, total_kind;
	uint8_t width; /* characters on a screen */
	uint8_t keep;  /* a narrow screen drops columns with low values first; 9: never */
	bool batch;    /* in the batch table too */
};

struct hk_table_cell {
	double now, total;
	const char *text; /* text of HK_CELL_NAME and HK_CELL_TEXT */
};

#define HK_CELL_BYTES_MAX 64u

/* Returns whether cells of KIND are text. */
bool hk_cell_is_text(enum hk_cell_kind kind);
/* Return the kind and the title of COLUMN for rates, or for totals. */
enum hk_cell_kind hk_column_kind(const struct hk_column *column, bool totals);
const char *hk_column_title(const struct hk_column *column, bool totals);

/* Writes a number of KIND; "-" for NAN. Returns TEXT. */
const char *hk_cell_number(char text[HK_CELL_BYTES_MAX], enum hk_cell_kind kind, double value);

/* Writes a sparkline of the last 60 seconds of TRACK (NULL: blanks) in WIDTH characters, scaled to
 * the row's own maximum. UTF8: else in ASCII. TEXT has room for 3 * WIDTH + 1. */
void hk_cell_spark(char *text, size_t width, const struct hk_track *track, bool utf8);

/* Returns one character for SHARE, 0 to 1. */
const char *hk_cell_bar(double share, bool utf8);

#endif
