/* live.h: top on a screen: what it knows, looks for and shows.
 *
 * `live` looks and keeps the state, `layout` makes of it the rows that can be seen, `draw` draws
 * them, `keys` and `prompt` change it. Main thread only.
 */
#ifndef HK_CLI_TUI_LIVE_H
#define HK_CLI_TUI_LIVE_H

#include "cli/tui/poller.h"
#include "cli/tui/view.h"

#define HK_LIVE_WORD 64u
#define HK_LIVE_LEVEL_SECONDS 60u

struct hk_live_options {
	const char *job; /* as hk_job_open */
	const struct hk_view *view;
	size_t sort;	     /* column of `view`; its column_count: the view's */
	unsigned long shots; /* 0: until the user leaves */
	double delay_s;
	bool all_rows; /* begin with idle waits, launchers and helpers too */
};

/* What is kept of each view while another one is shown. */
struct hk_pane {
	const struct hk_view *view;
	struct hk_order order;
	struct hk_history *history, *below;
	char filter[HK_LIVE_WORD];
	char *chosen;	     /* key of the row; NULL: the first one */
	size_t line;	     /* of it among the rows */
	size_t top;	     /* first row that is shown */
	char *expanded;	     /* key; NULL: none */
	struct hk_pick pick; /* of the row that is expanded */
	bool all;	     /* of many rows below it, all are shown */
	bool map;	     /* ranks are shown as a map, however few */
};

enum hk_prompt {
	HK_PROMPT_NONE,
	HK_PROMPT_FIND,
	HK_PROMPT_FILTER,
	HK_PROMPT_DELAY,
	HK_PROMPT_LEVEL
};

/* Where things are on the screen, for the mouse. */
struct hk_layout {
	int tabs, header, first, lines; /* lines of the screen; how many rows fit */
	int tab_end[HK_VIEWS];		/* columns */
	int column_end[HK_ROW_CELLS];	/* of a column that is shown; else 0 */
};

struct hk_live {
	struct hk_live_options options;
	struct hk_pane tabs[HK_VIEWS];
	struct hk_pane *tab; /* the one shown */
	struct hk_poller *poller;
	struct hk_top_snapshot *shot; /* the newest */
	struct hk_history *head;
	struct hk_rows rows; /* of the tab, as they are shown */
	struct hk_layout layout;
	bool utf8, totals, paused, help, quit;
	int help_top;	  /* first line of the help that is shown */
	bool all_rows;	  /* idle waits and launchers too */
	size_t hidden;	  /* rows that are not shown for that reason */
	bool gone;	  /* no collector answers, or follows the job */
	bool wanting;	  /* a look, as soon as can be */
	uint64_t next_ns; /* when to look again */
	unsigned long shots;
	enum hk_prompt prompt;
	char word[HK_LIVE_WORD], sought[HK_LIVE_WORD];
	char message[256]; /* until the next key */
};

/* Shows the job until the user leaves; hookcli's exit code. */
int hk_live_run(const struct hk_live_options *options);

/* ---- between the files ---- */

__attribute__((format(printf, 2, 3))) void hk_live_say(struct hk_live *live, const char *format,
						       ...);
/* Shows view number INDEX. */
void hk_live_show(struct hk_live *live, size_t index);
/* Whether the shot has the calls that the view shows. */
bool hk_live_has_rows(const struct hk_live *live);

/* Makes the rows of the tab anew, to be called when anything of it has changed. */
void hk_layout_rows(struct hk_live *live);
/* The row that is chosen; NULL: there is none. */
struct hk_row *hk_layout_chosen(struct hk_live *live);
/* Chooses the row BY further down, or the last one there is. */
void hk_layout_move(struct hk_live *live, long by);
/* Chooses row INDEX. */
void hk_layout_choose(struct hk_live *live, size_t index);

void hk_draw(struct hk_live *live);
/* Draws the map of the ranks from line TOP on, in at most LINES; how many it took. */
int hk_heat_draw(struct hk_live *live, int top, int lines);

void hk_keys_press(struct hk_live *live, int key);
/* Draws the help from line TOP on, in LINES lines, scrolled to live->help_top. */
void hk_keys_help(struct hk_live *live, int top, int lines);
/* The keys in one line. */
const char *hk_keys_line(void);

void hk_prompt_open(struct hk_live *live, enum hk_prompt prompt);
/* A key while it is open. */
void hk_prompt_press(struct hk_live *live, int key);
/* What stands in the last line. */
void hk_prompt_text(const struct hk_live *live, char *text, size_t size);

#endif
