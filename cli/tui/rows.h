/* rows.h: the rows of a table: filled by a view, then filtered, sorted and shown. Rows own their
 * keys and the texts made with hk_rows_text; other texts are the snapshot's, which must outlive
 * them. Out of memory is kept in `failed`. Locked by the caller. */
#ifndef HK_CLI_TUI_ROWS_H
#define HK_CLI_TUI_ROWS_H

#include "cli/tui/cell.h"
#include "cli/tui/snapshot.h"

#define HK_ROW_CELLS 17u

enum hk_row_mark {
	HK_ROW_PLAIN = 0,
	HK_ROW_ALERT = 1, /* the row shows a problem */
	HK_ROW_SUM = 2,	  /* medians, or the number of rows that are not shown */
};

struct hk_row {
	const char *key; /* unique in the table; never NULL */
	unsigned depth;	 /* 1: below the expanded row */
	bool expandable;
	bool aside; /* an idle wait, or a launcher's: shown on request */
	enum hk_row_mark mark;
	struct hk_pick pick; /* the calls in the snapshot that it shows */
	struct hk_table_cell cells[HK_ROW_CELLS];
	const struct hk_track *track; /* NULL: no track */
};

struct hk_rows {
	struct hk_row *rows;
	size_t count, room;
	char **texts;
	size_t text_count, text_room;
	bool failed;
};

void hk_rows_fini(struct hk_rows *rows);

/* Adds a row under KEY, which is copied, with its numbers NAN and its texts NULL. Returns the row,
 * valid until the next one is added, or NULL without memory. */
struct hk_row *hk_rows_add(struct hk_rows *rows, const char *key);

/* Returns a text that lasts as long as the rows, or "" without memory. */
__attribute__((format(printf, 2, 3))) const char *hk_rows_text(struct hk_rows *rows,
							       const char *format, ...);

/* The order of a table. */
struct hk_order {
	const struct hk_column *columns;
	size_t column_count, column; /* the sort column */
	bool totals;
	bool reverse; /* default: numbers fall and texts rise */
};

void hk_rows_sort(struct hk_rows *rows, const struct hk_order *order);

/* Keeps the rows that have TEXT in one of their texts, in any case; "": all rows. */
void hk_rows_filter(struct hk_rows *rows, const struct hk_order *order, const char *text);
/* Removes the rows that are aside, unless all are. Returns their number. */
size_t hk_rows_hide(struct hk_rows *rows);
/* Returns whether no row has a number in cell CELL. */
bool hk_rows_are_empty(const struct hk_rows *rows, size_t cell);
/* Returns whether ROW has TEXT in one of its texts. */
bool hk_row_has(const struct hk_row *row, const struct hk_order *order, const char *text);

/* Shortens many sorted rows to the first ones and the last, with a row of medians and one that
 * counts the rest between. WHAT names them: "ranks". */
void hk_rows_shorten(struct hk_rows *rows, const struct hk_order *order, const char *what);

/* Returns the index of the row under KEY; rows->count if there is no such. */
size_t hk_rows_find(const struct hk_rows *rows, const char *key);

#endif
