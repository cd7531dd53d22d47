/* The keys, their effects, and the help made from them. */
#include <assert.h>
#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tui/live.h"
#include "cli/tui/terminal.h"
#include "ring/segment.h"

#define KEY_CONTROL_L 12
#define KEY_ESCAPE 27
#define WHEEL_ROWS 3

static void choose_view(struct hk_live *live, int key)
{
	hk_live_show(live, (size_t)(key - '1'));
}

static void next_view(struct hk_live *live, int key)
{
	size_t now = (size_t)(live->tab - live->tabs);

	hk_live_show(live, (now + (key == KEY_BTAB ? HK_VIEWS - 1 : 1)) % HK_VIEWS);
}

static void sort_by(struct hk_live *live, size_t column)
{
	struct hk_order *order = &live->tab->order;

	order->reverse = order->column == column ? !order->reverse : false;
	order->column = column;
	hk_layout_rows(live);
}

/* Moves the sort to the next shown column on the left or right. */
static void sort(struct hk_live *live, int key)
{
	struct hk_order *order = &live->tab->order;
	size_t count = order->column_count, column = order->column;

	do {
		column = (column + (key == '<' ? count - 1 : 1)) % count;
	} while (column != order->column && live->layout.column_end[column] == 0);
	if (column != order->column) {
		sort_by(live, column);
	}
}

static void reverse(struct hk_live *live, int key)
{
	(void)key;
	sort_by(live, live->tab->order.column);
}

static void find(struct hk_live *live, int key)
{
	(void)key;
	hk_prompt_open(live, HK_PROMPT_FIND);
}

static void find_next(struct hk_live *live, int key)
{
	size_t count = live->rows.count, from = live->tab->line;

	(void)key;
	for (size_t i = 1; i <= count && *live->sought; i++) {
		size_t at = (from + i) % count;
		if (hk_row_has(&live->rows.rows[at], &live->tab->order, live->sought)) {
			hk_layout_choose(live, at);
			return;
		}
	}
	hk_live_notice(live, *live->sought ? "nothing here has '%s'" : "find what? /%s",
		       live->sought);
}

static void clear_filter(struct hk_live *live, int key)
{
	(void)key;
	if (*live->tab->filter) {
		*live->tab->filter = '\0';
		hk_layout_rows(live);
	}
}

static void filter_rows(struct hk_live *live, int key)
{
	(void)key;
	hk_prompt_open(live, HK_PROMPT_FILTER);
}

/* Expands a row: cycles through the first rows below, all of them, none. */
static void expand(struct hk_live *live, int key)
{
	struct hk_tab *tab = live->tab;
	const struct hk_row *row = hk_layout_chosen(live);
	bool open = row && tab->expanded && strcmp(row->key, tab->expanded) == 0;

	(void)key;
	if (!row || !row->expandable || !tab->view->expand) {
		hk_live_notice(live, "this row is all there is");
		return;
	}
	bool shortened = false;
	for (size_t i = 0; i < live->rows.count; i++) {
		shortened |= live->rows.rows[i].mark == HK_ROW_SUM;
	}
	if (open && shortened && !tab->all) {
		tab->all = true;
	} else {
		free(tab->expanded);
		hk_pick_fini(&tab->pick);
		tab->expanded = open ? NULL : strdup(row->key);
		tab->all = false;
		if (tab->expanded && hk_pick_copy(&tab->pick, &row->pick) == 0) {
			hk_history_free(tab->below);
			tab->below = hk_history_new();
			live->wanting = tab->view->below != 0;
		}
	}
	/* Scroll so that the rows below it are visible. */
	if (tab->line > tab->top + (size_t)live->layout.lines / 2) {
		tab->top = tab->line - 1;
	}
	if (tab->below) {
		hk_layout_rows(live);
	} else {
		live->quit = true; /* out of memory */
	}
}

static void pause_or_go(struct hk_live *live, int key)
{
	(void)key;
	live->paused = !live->paused;
	live->wanting |= !live->paused;
}

static void totals(struct hk_live *live, int key)
{
	(void)key;
	live->totals = !live->totals;
	live->tab->order.totals = live->totals;
	hk_layout_rows(live);
}

static void aside(struct hk_live *live, int key)
{
	(void)key;
	live->all_rows = !live->all_rows;
	hk_layout_rows(live);
}

static void level(struct hk_live *live, int key)
{
	const struct hk_row *row = hk_layout_chosen(live);

	(void)key;
	if (!row || !row->pick.function) {
		hk_live_notice(live, "a level is a function's: choose one of Functions (1)");
	} else if (hk_top_snapshot_state(live->snapshot) != HK_TOP_SNAPSHOT_LIVE ||
		   live->disconnected) {
		hk_live_notice(live, "levels can be changed only while the job runs");
	} else if (!*live->snapshot->job.url) {
		hk_live_notice(live,
			       "each node has its own collector: use hookcli ctl level there");
	} else if (strpbrk(row->pick.function, "*?[]:\\") ||
		   strlen(row->pick.function) >= HK_RULE_PATTERN_BYTES) {
		hk_live_notice(live, "that name is no pattern: use hookcli ctl level");
	} else {
		hk_prompt_open(live, HK_PROMPT_LEVEL);
	}
}

static void delay(struct hk_live *live, int key)
{
	(void)key;
	hk_prompt_open(live, HK_PROMPT_DELAY);
}

static void map(struct hk_live *live, int key)
{
	(void)key;
	live->tab->map = !live->tab->map;
	if (live->tab->view->heat[0] == 0) {
		hk_live_notice(live, "the map is of the ranks (2)");
	}
}

static void move_by(struct hk_live *live, int key)
{
	long page = live->layout.lines > 1 ? live->layout.lines - 1 : 1;
	long all = (long)live->rows.count;

	hk_layout_move(live, key == KEY_UP	? -1
			     : key == KEY_DOWN	? 1
			     : key == KEY_PPAGE ? -page
			     : key == KEY_NPAGE ? page
			     : key == KEY_HOME	? -all
						: all);
}

static void help(struct hk_live *live, int key)
{
	(void)key;
	live->help = true;
	live->help_top = 0;
}

static void redraw(struct hk_live *live, int key)
{
	(void)live;
	(void)key;
	clearok(curscr, TRUE);
}

static void quit(struct hk_live *live, int key)
{
	(void)key;
	live->quit = true;
}

/* Returns the header's column at screen column X; column_count if there is no such. */
static size_t column_at(const struct hk_live *live, int x)
{
	size_t count = live->tab->view->column_count;

	for (size_t i = 0; i < count; i++) {
		if (x < live->layout.column_end[i]) {
			return i;
		}
	}
	return count;
}

static void click(struct hk_live *live, const MEVENT *event)
{
	const struct hk_layout *layout = &live->layout;
	int row = event->y - layout->first;

	if (event->y == layout->tabs) {
		for (size_t i = 0; i < HK_VIEWS; i++) {
			if (event->x < layout->tab_end[i]) {
				hk_live_show(live, i);
				return;
			}
		}
	} else if (event->y == layout->header &&
		   column_at(live, event->x) < live->tab->view->column_count) {
		sort_by(live, column_at(live, event->x));
	} else if (row >= 0 && row < layout->lines) {
		hk_layout_choose(live, live->tab->top + (size_t)row);
	}
}

static void mouse(struct hk_live *live, int key)
{
	MEVENT event;

	(void)key;
	if (getmouse(&event) != OK) {
		return;
	}
	if (event.bstate & BUTTON4_PRESSED) {
		hk_layout_move(live, -WHEEL_ROWS);
	} else if (event.bstate & BUTTON5_PRESSED) {
		hk_layout_move(live, WHEEL_ROWS);
	} else if (event.bstate & BUTTON1_PRESSED) {
		click(live, &event);
	}
}

static_assert(HK_VIEWS <= 9, "each view has a digit");
static const char views_label[] = {'1', '-', '0' + HK_VIEWS, '\0'};

static const struct key {
	int first, last;
	void (*act)(struct hk_live *live, int key);
	const char *label, *help; /* NULL: as for the key before */
} keys[] = {
    {'1', '0' + HK_VIEWS, choose_view, views_label, "another view"},
    {'\t', '\t', next_view, "Tab", "the next view"},
    {KEY_BTAB, KEY_BTAB, next_view, NULL, NULL},
    {'<', '<', sort, "< >", "sort by the column to the left, to the right"},
    {'>', '>', sort, NULL, NULL},
    {'R', 'R', reverse, "R", "sort the other way round"},
    {'/', '/', find, "/", "find a row"},
    {'n', 'n', find_next, "n", "find the next one"},
    {'\\', '\\', filter_rows, "\\", "only rows with a text"},
    {KEY_ESCAPE, KEY_ESCAPE, clear_filter, "Esc", "all rows again"},
    {'\r', '\r', expand, "Enter", "expand the row into its ranks or functions"},
    {'\n', '\n', expand, NULL, NULL},
    {KEY_ENTER, KEY_ENTER, expand, NULL, NULL},
    {' ', ' ', pause_or_go, "Space", "pause, go on"},
    {'t', 't', totals, "t", "rates per second, or totals since the start"},
    {'i', 'i', aside, "i", "idle waits, launchers and helpers too, or not"},
    {'l', 'l', level, "l", "another level for the row's function, 60 s"},
    {'h', 'h', map, "h", "map of the ranks, always there beyond 64"},
    {'d', 'd', delay, "d", "time between two looks"},
    {KEY_DOWN, KEY_DOWN, move_by, "arrows, PgUp, PgDn, Home, End", "choose a row"},
    {KEY_UP, KEY_UP, move_by, NULL, NULL},
    {KEY_PPAGE, KEY_PPAGE, move_by, NULL, NULL},
    {KEY_NPAGE, KEY_NPAGE, move_by, NULL, NULL},
    {KEY_HOME, KEY_HOME, move_by, NULL, NULL},
    {KEY_END, KEY_END, move_by, NULL, NULL},
    {KEY_MOUSE, KEY_MOUSE, mouse, "mouse", "click a view, a column, a row; the wheel moves"},
    {KEY_CONTROL_L, KEY_CONTROL_L, redraw, "Ctrl-L", "draw the screen again"},
    {'?', '?', help, "?", "this help"},
    {KEY_F(1), KEY_F(1), help, NULL, NULL},
    {'q', 'q', quit, "q", "leave"},
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

const char *hk_keys_line(void)
{
	static char line[128];

	snprintf(
	    line, sizeof(line),
	    "? help  %s view  <> sort  / find  \\ filter  Enter expand  Space pause  l level  q",
	    views_label);
	return line;
}

/* Makes the lines of the help; returns their number. */
static int help_lines(const struct key *lines[KEY_COUNT])
{
	int count = 0;

	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (keys[i].label) {
			lines[count++] = &keys[i];
		}
	}
	return count;
}

void hk_keys_help(struct hk_live *live, int top, int lines)
{
	const struct key *all[KEY_COUNT];
	int count = help_lines(all), fits = lines > 1 ? lines - 1 : 0;
	int last = count > fits ? count - fits : 0;

	live->help_top = live->help_top > last ? last : live->help_top < 0 ? 0 : live->help_top;
	live->layout.lines = fits;
	for (int i = 0; i < fits && live->help_top + i < count; i++) {
		const struct key *key = all[live->help_top + i];
		int width = (int)strlen(key->label) < 8 ? 8 : 30;
		hk_terminal_put(top + i, 1, width, HK_STYLE_STRONG, key->label, false);
		hk_terminal_put(top + i, width + 2, COLS, HK_STYLE_PLAIN, key->help, false);
	}
	hk_terminal_put(LINES - 1, 0, COLS, HK_STYLE_FAINT,
			last == 0 ? "any key goes back"
				  : "arrows, PgUp, PgDn: more   any other key goes back",
			false);
}

/* Scrolls the help by KEY; returns false if KEY leaves it. */
static bool scroll_help(struct hk_live *live, int key)
{
	int page = live->layout.lines > 1 ? live->layout.lines - 1 : 1;
	MEVENT event;

	switch (key) {
	case KEY_UP:
		live->help_top--;
		return true;
	case KEY_DOWN:
		live->help_top++;
		return true;
	case KEY_PPAGE:
		live->help_top -= page;
		return true;
	case KEY_NPAGE:
		live->help_top += page;
		return true;
	case KEY_HOME:
		live->help_top = 0;
		return true;
	case KEY_END:
		live->help_top = (int)KEY_COUNT;
		return true;
	case KEY_MOUSE:
		if (getmouse(&event) == OK && event.bstate & (BUTTON4_PRESSED | BUTTON5_PRESSED)) {
			live->help_top += event.bstate & BUTTON4_PRESSED ? -1 : 1;
		}
		return true;
	default:
		return false;
	}
}

void hk_keys_press(struct hk_live *live, int key)
{
	*live->message = '\0';
	if (live->help) {
		live->help = scroll_help(live, key);
		return;
	}
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (key >= keys[i].first && key <= keys[i].last) {
			keys[i].act(live, key);
			return;
		}
	}
	hk_live_notice(live, "? shows the keys");
}
