/* One cell for each rank, grouped by node: shows where the job differs. */
#include <curses.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tui/live.h"
#include "cli/tui/terminal.h"
#include "text/name.h"

#define HOST_COLUMNS 12
#define APART 0.15 /* relative distance from the median from which on a cell is highlighted */

struct cell {
	const char *host;
	double rank, value;
	bool chosen;
};

struct scale {
	double most, median;
};

static int by_rank(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Compares cells by the names of nodes, then by rank. */
static int by_node(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;
	int order = strcmp(x->host, y->host);

	return order ? order : by_rank(a, b);
}

/* Returns the column that is shown: the sort column if it has numbers. */
static size_t column_of(const struct hk_live *live)
{
	const struct hk_tab *tab = live->tab;
	enum hk_cell_kind kind = tab->view->columns[tab->order.column].kind;
	const size_t *heat = tab->view->heat;

	if (!hk_cell_is_text(kind) && kind != HK_CELL_SPARK) {
		return tab->order.column;
	}
	return hk_rows_are_empty(&live->rows, heat[0]) ? heat[1] : heat[0];
}

static size_t cells_of(struct hk_live *live, size_t column, struct cell *cells)
{
	bool totals = live->totals && live->tab->view->columns[column].total_title;
	const struct hk_row *chosen = hk_layout_chosen(live);
	size_t count = 0;

	for (size_t i = 0; i < live->rows.count; i++) {
		const struct hk_row *row = &live->rows.rows[i];
		if (row->depth == 0 && row->cells[1].text) {
			cells[count++] = (struct cell){
			    .host = row->cells[1].text,
			    .rank = row->cells[0].now,
			    .value = totals ? row->cells[column].total : row->cells[column].now,
			    .chosen = row == chosen,
			};
		}
	}
	qsort(cells, count, sizeof(*cells), by_node);
	return count;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(const struct cell *cells, size_t count)
{
	double *values = malloc((count + 1) * sizeof(*values)), median = 0;
	size_t known = 0;

	for (size_t i = 0; values && i < count; i++) {
		if (!isnan(cells[i].value)) {
			values[known++] = cells[i].value;
		}
	}
	if (known > 0) {
		qsort(values, known, sizeof(*values), by_value);
		median = values[(known - 1) / 2];
	}
	free(values);
	return median;
}

static void draw_title(const struct hk_live *live, int line, size_t column,
		       const struct cell *highest)
{
	const struct hk_column *head = &live->tab->view->columns[column];
	char number[HK_CELL_BYTES_MAX], text[256];

	hk_cell_number(number, hk_column_kind(head, live->totals), highest->value);
	snprintf(text, sizeof(text), "%s of each rank, %s none to %s %s (rank %.0f)",
		 hk_column_title(head, live->totals), hk_cell_bar(0, live->utf8),
		 hk_cell_bar(1, live->utf8), number, highest->rank);
	hk_terminal_put(line, 0, COLS, HK_STYLE_FAINT, text, false);
}

static void draw_cell(const struct hk_live *live, int line, int at, const struct cell *cell,
		      const struct scale *scale)
{
	double share = scale->most > 0 && cell->value > 0 ? cell->value / scale->most : 0;
	bool apart = fabs(cell->value - scale->median) > APART * scale->median;
	enum hk_style style = cell->chosen ? HK_STYLE_CHOSEN
			      : apart	   ? HK_STYLE_ALERT
					   : HK_STYLE_PLAIN;

	hk_terminal_put(line, at, 1, style,
			isnan(cell->value) ? "?" : hk_cell_bar(share, live->utf8), false);
}

static bool begins_node(const struct cell *cells, size_t i)
{
	return i == 0 || strcmp(cells[i].host, cells[i - 1].host) != 0;
}

/* Sets the position of cell I, which follows one at *LINE and *COLUMN (-1: it is the first). */
static void place(const struct cell *cells, size_t i, int *line, int *column)
{
	if (begins_node(cells, i) || *column + 1 >= COLS) {
		*line += 1;
		*column = HOST_COLUMNS + 1;
	} else {
		*column += 1;
	}
}

static int lines_of(const struct cell *cells, size_t count)
{
	int line = -1, column = -1;

	for (size_t i = 0; i < count; i++) {
		place(cells, i, &line, &column);
	}
	return line + 1;
}

/* Draws the cells of as many nodes as fit; returns the number of lines. */
static int draw_nodes(const struct hk_live *live, int top, int lines, const struct cell *cells,
		      size_t count, const struct scale *scale)
{
	char host[HK_NAME_BYTES(HOST_COLUMNS)], more[64];
	int needed = lines_of(cells, count), line = -1, column = -1;

	for (size_t i = 0; i < count; i++) {
		place(cells, i, &line, &column);
		if (needed > lines && line == lines - 1) {
			snprintf(more, sizeof(more), "(%zu more ranks)", count - i);
			hk_terminal_put(top + line, 0, COLS, HK_STYLE_FAINT, more, false);
			return lines;
		}
		if (begins_node(cells, i)) {
			hk_name_print_end(host, HOST_COLUMNS, cells[i].host);
			hk_terminal_put(top + line, 0, HOST_COLUMNS, HK_STYLE_PLAIN, host, false);
		}
		draw_cell(live, top + line, column, &cells[i], scale);
	}
	return needed;
}

int hk_heat_draw(struct hk_live *live, int top, int lines)
{
	size_t column = column_of(live);
	struct cell *cells = malloc((live->rows.count + 1) * sizeof(*cells));

	if (!cells || lines < 2) {
		free(cells);
		return 0;
	}
	size_t count = cells_of(live, column, cells), highest = 0;
	for (size_t i = 1; i < count; i++) {
		highest = fmax(cells[i].value, cells[highest].value) > cells[highest].value ||
				  isnan(cells[highest].value)
			      ? i
			      : highest;
	}
	int used = 0;
	if (count > 0) {
		const struct scale scale = {cells[highest].value, median_of(cells, count)};
		draw_title(live, top, column, &cells[highest]);
		used = 1 + draw_nodes(live, top + 1, lines - 1, cells, count, &scale);
	}
	free(cells);
	return used;
}
