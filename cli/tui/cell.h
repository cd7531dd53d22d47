/* cell.h: what stands in a column of a table, and how it is written.
 *
 * A cell holds a number or a text, twice: how it is now, per second, and how much it is since the
 * job's start. NAN, and NULL, is "-": not measured, or makes no sense there. Pure functions.
 */
#ifndef HK_CLI_TUI_CELL_H
#define HK_CLI_TUI_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/tui/history.h"

enum hk_cell_kind {
	HK_CELL_NAME,	 /* text to the left that gets the room that is left */
	HK_CELL_TEXT,	 /* text to the left */
	HK_CELL_COUNT,	 /* short: "1.9M" */
	HK_CELL_INTEGER, /* to the last digit, as far as it fits */
	HK_CELL_PERCENT,
	HK_CELL_RATIO,
	HK_CELL_NS,
	HK_CELL_BYTES,
	HK_CELL_SPARK, /* of the row's track */
};

struct hk_column {
	const char *title, *total_title; /* NULL: the same */
	enum hk_cell_kind kind, total_kind;
	uint8_t width; /* characters on a screen */
	uint8_t keep;  /* columns with the lowest go first where a screen is narrow; 9: stays */
	bool batch;    /* in the batch table too */
};

struct hk_table_cell {
	double now, total;
	const char *text; /* of HK_CELL_NAME and _TEXT */
};

#define HK_CELL_BYTES_MAX 64u

/* Whether cells of KIND are text. */
bool hk_cell_is_text(enum hk_cell_kind kind);
/* The kind and title of COLUMN now, or of totals. */
enum hk_cell_kind hk_column_kind(const struct hk_column *column, bool totals);
const char *hk_column_title(const struct hk_column *column, bool totals);

/* Writes a number of KIND; "-" for NAN. Returns TEXT. */
const char *hk_cell_number(char text[HK_CELL_BYTES_MAX], enum hk_cell_kind kind, double value);

/* Writes WIDTH characters of the last 60 seconds of TRACK (NULL: blanks), each row by its own
 * highest; UTF8: else in ASCII. TEXT has room for 3 * WIDTH + 1. */
void hk_cell_spark(char *text, size_t width, const struct hk_track *track, bool utf8);

/* One character for SHARE, 0 to 1. */
const char *hk_cell_bar(double share, bool utf8);

#endif
