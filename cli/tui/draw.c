/* The screen: head, tabs, table, foot, and one line for prompts and messages. */
#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tui/head.h"
#include "cli/tui/live.h"
#include "cli/tui/terminal.h"

#define WARNINGS 2
#define FOOT_LINES 4
#define FOOT_FROM 20 /* lines of a screen that has room for a foot */
#define LINE_BYTES 2048u

enum { NAME_LEAST = 14, NAME_MOST = 72, NAME_INDENT = 4, SPARK_MOST = 60, MAP_FROM = 64 };

/* Draws the lines of TEXT from LINE on, at most MOST of them; returns their number. */
static int put_lines(int line, int most, const char *text, enum hk_style first, enum hk_style rest)
{
	int count = 0;

	while (*text && count < most) {
		char copy[LINE_BYTES];
		size_t length = strcspn(text, "\n");
		snprintf(copy, sizeof(copy), "%.*s", (int)length, text);
		hk_terminal_put(line + count, 0, COLS, count == 0 ? first : rest, copy, false);
		text += length + (text[length] == '\n');
		count++;
	}
	return count;
}

static const char *state_of(const struct hk_live *live, char *text, size_t size)
{
	if (live->disconnected) {
		return "collector gone, trying";
	}
	if (hk_top_snapshot_state(live->snapshot) == HK_TOP_SNAPSHOT_ENDED) {
		return "ENDED";
	}
	if (live->paused) {
		return "PAUSED";
	}
	snprintf(text, size, "LIVE %gs", live->options.delay_s);
	return text;
}

/* Draws the state again at the end of a line of LENGTH, where a narrow screen would cut it. */
static void put_state(const struct hk_live *live, size_t length, const char *state)
{
	int width = (int)strlen(state) + 1;

	if (length > (size_t)COLS && width < COLS) {
		hk_terminal_put(0, COLS - width, width,
				live->disconnected ? HK_STYLE_ALERT : HK_STYLE_STRONG, state, true);
	}
}

static int draw_head(struct hk_live *live)
{
	char state[64], *text = NULL;
	const char *shown = state_of(live, state, sizeof(state));
	size_t size;
	int lines = 0;

	FILE *output = open_memstream(&text, &size);
	if (output) {
		hk_head_write(live->snapshot, live->head, shown, live->utf8, output);
		fclose(output);
		lines = put_lines(0, 2, text, live->disconnected ? HK_STYLE_ALERT : HK_STYLE_STRONG,
				  HK_STYLE_PLAIN);
		put_state(live, strcspn(text, "\n"), shown);
		free(text);
	}
	output = open_memstream(&text, &size);
	if (output) {
		hk_head_warn(live->snapshot, output);
		fclose(output);
		lines += put_lines(lines, WARNINGS, text, HK_STYLE_ALERT, HK_STYLE_ALERT);
		free(text);
	}
	return lines;
}

static void draw_tabs(struct hk_live *live, int line)
{
	int column = 0;

	live->layout.tabs = line;
	for (size_t i = 0; i < HK_VIEWS; i++) {
		bool shown = live->tab == &live->tabs[i];
		char text[64];
		int length = snprintf(text, sizeof(text), shown ? "[%zu %s]" : " %zu %s ", i + 1,
				      hk_views[i]->name);
		/* A narrow screen shows only the numbers of the tabs, except for the active one. */
		if (COLS < 77 && !shown) {
			length = snprintf(text, sizeof(text), " %zu ", i + 1);
		}
		hk_terminal_put(line, column, length, shown ? HK_STYLE_STRONG : HK_STYLE_PLAIN,
				text, false);
		column += length;
		live->layout.tab_end[i] = column;
	}
}

/* ---- the table ---- */

/* Returns whether all rows are empty in a column. */
static bool is_empty(const struct hk_live *live, size_t column)
{
	enum hk_cell_kind kind = live->tab->view->columns[column].kind;

	if (live->rows.count == 0) {
		return false;
	}
	if (kind == HK_CELL_SPARK) {
		return hk_top_snapshot_state(live->snapshot) == HK_TOP_SNAPSHOT_ENDED;
	}
	if (!hk_cell_is_text(kind)) {
		return column != live->tab->order.column && hk_rows_are_empty(&live->rows, column);
	}
	for (size_t i = 0; i < live->rows.count; i++) {
		const char *text = live->rows.rows[i].cells[column].text;
		if (text && *text) {
			return false;
		}
	}
	return true;
}

static size_t longest_of(const struct hk_live *live, size_t column)
{
	size_t longest = 0;

	for (size_t i = 0; i < live->rows.count; i++) {
		const char *text = live->rows.rows[i].cells[column].text;
		size_t length = text ? strlen(text) : 0;
		longest = length > longest ? length : longest;
	}
	return longest;
}

/* Widens columns of text on a wide screen, in the room that names leave. */
static void widen_texts(const struct hk_live *live, int widths[HK_ROW_CELLS])
{
	const struct hk_view *view = live->tab->view;
	int names = NAME_INDENT + (int)longest_of(live, 0);

	for (size_t i = 1; i < view->column_count; i++) {
		int spare = widths[0] - (names > NAME_LEAST ? names : NAME_LEAST);
		int missing = (int)longest_of(live, i) - widths[i];
		if (view->columns[i].kind == HK_CELL_TEXT && widths[i] > 0 && spare > 0 &&
		    missing > 0) {
			missing = missing < spare ? missing : spare;
			widths[i] += missing;
			widths[0] -= missing;
		}
	}
}

/* Widens sparklines on a wide screen, in the room that names leave. Numbers far from their names
 * would be hard to read. */
static void widen_sparks(const struct hk_live *live, int widths[HK_ROW_CELLS])
{
	const struct hk_view *view = live->tab->view;
	size_t longest = NAME_INDENT + longest_of(live, 0);

	longest = longest > NAME_MOST ? longest : NAME_MOST;
	if (longest >= (size_t)widths[0]) {
		return;
	}
	int spare = widths[0] - (int)longest;
	widths[0] = (int)longest;
	for (size_t i = 1; i < view->column_count; i++) {
		if (view->columns[i].kind == HK_CELL_SPARK && widths[i] > 0) {
			int wide = widths[i] + spare;
			widths[i] = wide < SPARK_MOST ? wide : SPARK_MOST;
		}
	}
}

/* Sets the width of each column: 0 for those that do not fit. */
static void fit(const struct hk_live *live, int widths[HK_ROW_CELLS])
{
	const struct hk_view *view = live->tab->view;
	int used = NAME_LEAST;

	for (size_t i = 1; i < view->column_count; i++) {
		widths[i] = is_empty(live, i) ? 0 : view->columns[i].width;
		used += widths[i] ? widths[i] + 1 : 0;
	}
	while (used > COLS) {
		size_t least = 0;
		for (size_t i = 1; i < view->column_count; i++) {
			if (widths[i] > 0 &&
			    (least == 0 || view->columns[i].keep < view->columns[least].keep)) {
				least = i;
			}
		}
		if (least == 0) {
			break;
		}
		used -= widths[least] + 1;
		widths[least] = 0;
	}
	widths[0] = used < COLS ? COLS - used + NAME_LEAST : NAME_LEAST;
	widen_texts(live, widths);
	widen_sparks(live, widths);
}

static void draw_header(struct hk_live *live, int line, const int widths[HK_ROW_CELLS])
{
	const struct hk_tab *tab = live->tab;
	int column = 0;

	live->layout.header = line;
	hk_terminal_put(line, 0, COLS, HK_STYLE_HEAD, "", false);
	for (size_t i = 0; i < tab->view->column_count; i++) {
		const struct hk_column *head = &tab->view->columns[i];
		bool chosen = i == tab->order.column;
		bool left = hk_cell_is_text(head->kind) || head->kind == HK_CELL_SPARK;
		bool falls = hk_cell_is_text(head->kind) == tab->order.reverse;
		const char *mark = live->utf8 ? (falls ? "↓" : "↑") : (falls ? "v" : "^");
		char text[64];
		live->layout.column_end[i] = 0;
		if (widths[i] == 0) {
			continue;
		}
		snprintf(text, sizeof(text), "%s%s", hk_column_title(head, live->totals),
			 chosen ? mark : "");
		/* The gap before a column of numbers holds the mark. */
		int gap = i > 0 && !left;
		column += i > 0 && left;
		hk_terminal_put(line, column, widths[i] + gap,
				chosen ? HK_STYLE_HEAD_CHOSEN : HK_STYLE_HEAD, text, !left);
		column += widths[i] + gap;
		live->layout.column_end[i] = column;
	}
}

static void cell_text(const struct hk_live *live, const struct hk_row *row, size_t i, int width,
		      char *text, size_t size)
{
	const struct hk_tab *tab = live->tab;
	const struct hk_column *column = &tab->view->columns[i];
	const struct hk_table_cell *cell = &row->cells[i];
	char number[HK_CELL_BYTES_MAX], spark[3 * SPARK_MOST + 1];
	bool open = tab->expanded && strcmp(tab->expanded, row->key) == 0;

	if (column->kind == HK_CELL_SPARK) {
		hk_cell_spark(spark, width < SPARK_MOST ? (size_t)width : SPARK_MOST, row->track,
			      live->utf8);
		snprintf(text, size, "%s", spark);
	} else if (i == 0) {
		const char *mark = open ? (live->utf8 ? "▼" : "v") : " ";
		snprintf(text, size, "%s%s", row->depth > 0 ? "    " : mark,
			 cell->text ? cell->text : "");
	} else if (hk_cell_is_text(column->kind)) {
		snprintf(text, size, "%s", cell->text ? cell->text : "");
	} else {
		bool totals = live->totals && column->total_title;
		double value = totals ? cell->total : cell->now;
		bool blank = row->depth > 0 && value != value;
		snprintf(text, size, "%s",
			 blank ? ""
			       : hk_cell_number(number, hk_column_kind(column, totals), value));
	}
}

static void draw_row(struct hk_live *live, int line, size_t index, const int widths[HK_ROW_CELLS])
{
	const struct hk_row *row = &live->rows.rows[index];
	enum hk_style style = index == live->tab->line	  ? HK_STYLE_CHOSEN
			      : row->mark == HK_ROW_ALERT ? HK_STYLE_ALERT
			      : row->mark == HK_ROW_SUM	  ? HK_STYLE_FAINT
							  : HK_STYLE_PLAIN;
	int column = 0;

	hk_terminal_put(line, 0, COLS, style, "", false);
	for (size_t i = 0; i < live->tab->view->column_count; i++) {
		const struct hk_column *head = &live->tab->view->columns[i];
		bool left = hk_cell_is_text(head->kind) || head->kind == HK_CELL_SPARK;
		char text[LINE_BYTES];
		if (widths[i] == 0) {
			continue;
		}
		column += i > 0;
		cell_text(live, row, i, widths[i], text, sizeof(text));
		hk_terminal_put(line, column, widths[i], style, text, !left);
		column += widths[i];
	}
}

/* Draws the table from line TOP on, in LINES lines. */
static void draw_table(struct hk_live *live, int top, int lines)
{
	struct hk_tab *tab = live->tab;
	int widths[HK_ROW_CELLS] = {0};
	size_t fits = lines > 1 ? (size_t)lines - 1 : 0;

	fit(live, widths);
	draw_header(live, top, widths);
	live->layout.first = top + 1;
	live->layout.lines = (int)fits;
	if (live->rows.count == 0 && fits > 0) {
		hk_terminal_put(top + 1, 0, COLS, HK_STYLE_FAINT,
				!hk_live_has_rows(live) ? (live->snapshot->older ? "" : "looking")
				: *tab->filter ? "no row has what is filtered for; Esc shows all"
					       : tab->view->empty,
				false);
	}
	if (tab->line < tab->top) {
		tab->top = tab->line;
	} else if (fits > 0 && tab->line >= tab->top + fits) {
		tab->top = tab->line - fits + 1;
	}
	if (tab->top + fits > live->rows.count) {
		tab->top = live->rows.count > fits ? live->rows.count - fits : 0;
	}
	for (size_t i = 0; i < fits && tab->top + i < live->rows.count; i++) {
		draw_row(live, top + 1 + (int)i, tab->top + i, widths);
	}
}

/* ---- the whole ---- */

/* Draws the foot below the table of functions; returns its number of lines. */
static int draw_foot(struct hk_live *live)
{
	char *text = NULL;
	size_t size;
	int lines = 0;

	if (live->tab->view != &hk_view_functions || LINES < FOOT_FROM) {
		return 0;
	}
	FILE *output = open_memstream(&text, &size);
	if (output) {
		hk_foot_write(live->snapshot, output);
		fclose(output);
		for (const char *at = text; (at = strchr(at, '\n')); at++) {
			lines++;
		}
		lines = lines > FOOT_LINES ? FOOT_LINES : lines;
		put_lines(LINES - 1 - lines, lines, text, HK_STYLE_PLAIN, HK_STYLE_PLAIN);
		free(text);
	}
	return lines;
}

static void draw_last_line(struct hk_live *live)
{
	const struct hk_tab *tab = live->tab;
	char text[LINE_BYTES];

	if (live->prompt != HK_PROMPT_NONE) {
		hk_prompt_text(live, text, sizeof(text));
		hk_terminal_put(LINES - 1, 0, COLS, HK_STYLE_STRONG, text, false);
		return;
	}
	if (*live->message) {
		hk_terminal_put(LINES - 1, 0, COLS, HK_STYLE_STRONG, live->message, false);
		return;
	}
	char hidden[40] = "", only[HK_LIVE_WORD + 40] = "";
	if (live->hidden > 0) {
		snprintf(hidden, sizeof(hidden), "%zu hidden (i)  ", live->hidden);
	}
	if (*tab->filter) {
		snprintf(only, sizeof(only), "only '%s' (Esc: all)  ", tab->filter);
	}
	snprintf(text, sizeof(text), "%s%s%s", only, hidden, hk_keys_line());
	hk_terminal_put(LINES - 1, 0, COLS, HK_STYLE_FAINT, text, false);
}

static bool has_map(const struct hk_live *live)
{
	return live->tab->view->heat[0] > 0 && hk_live_has_rows(live) &&
	       (live->tab->map || live->snapshot->report->rank_count > MAP_FROM);
}

void hk_draw(struct hk_live *live)
{
	erase();
	int top = draw_head(live);
	draw_tabs(live, top++);
	if (live->help) {
		hk_keys_help(live, top, LINES - top);
		refresh();
		return;
	}
	int foot = draw_foot(live);
	if (has_map(live)) {
		top += hk_heat_draw(live, top, (LINES - top - 1) / 2);
	}
	draw_table(live, top, LINES - top - 1 - foot);
	draw_last_line(live);
	refresh();
}
