/* live.h: top on a screen: state, polling and display. `live` polls and keeps the state, `layout`
 * makes the visible rows from it, `draw` draws them, `keys` and `prompt` change it. Main thread
 * only. */
#ifndef HK_CLI_TUI_LIVE_H
#define HK_CLI_TUI_LIVE_H

#include "cli/tui/poller.h"
#include "cli/tui/view.h"

#define HK_LIVE_WORD 64u
#define HK_LIVE_LEVEL_SECONDS 60u

struct hk_live_options {
	const char *job; /* as hk_job_open */
	const struct hk_view *view;
	size_t sort;		 /* sort column of `view`; column_count: the view's own */
	unsigned long snapshots; /* 0: until the user leaves */
	double delay_s;
	bool all_rows; /* start with idle waits, launchers and helpers shown */
};

/* State of each view that is kept while another one is shown. */
struct hk_tab {
	const struct hk_view *view;
	struct hk_order order;
	struct hk_history *history, *below;
	char filter[HK_LIVE_WORD];
	char *chosen;	     /* key of the selected row; NULL: the first one */
	size_t line;	     /* its index among the rows */
	size_t top;	     /* first row that is shown */
	char *expanded;	     /* key of the expanded row; NULL: none */
	struct hk_pick pick; /* calls of the expanded row */
	bool all;	     /* show all of many rows below it */
	bool map;	     /* ranks are shown as a map, even if few */
};

enum hk_prompt {
	HK_PROMPT_NONE,
	HK_PROMPT_FIND,
	HK_PROMPT_FILTER,
	HK_PROMPT_DELAY,
	HK_PROMPT_LEVEL
};

/* Positions on the screen, for the mouse. */
struct hk_layout {
	int tabs, header, first, lines; /* lines of the screen; number of rows that fit */
	int tab_end[HK_VIEWS];		/* columns */
	int column_end[HK_ROW_CELLS];	/* end of each shown column; else 0 */
};

struct hk_live {
	struct hk_live_options options;
	struct hk_tab tabs[HK_VIEWS];
	struct hk_tab *tab; /* the active one */
	struct hk_poller *poller;
	struct hk_top_snapshot *snapshot; /* the newest */
	struct hk_history *head;
	struct hk_rows rows; /* of the tab, as they are shown */
	struct hk_layout layout;
	bool utf8, totals, paused, help, quit;
	int help_top;	   /* first visible line of the help */
	bool all_rows;	   /* show idle waits and launchers too */
	size_t hidden;	   /* number of rows hidden for that */
	bool disconnected; /* no collector answers or follows the job */
	bool wanting;	   /* poll as soon as possible */
	uint64_t next_ns;  /* time of the next poll */
	unsigned long snapshots;
	enum hk_prompt prompt;
	char word[HK_LIVE_WORD], sought[HK_LIVE_WORD];
	char message[256]; /* shown until the next key */
};

/* Shows the job until the user leaves; returns hookcli's exit code. */
int hk_live_run(const struct hk_live_options *options);

/* ---- between the files ---- */

__attribute__((format(printf, 2, 3))) void hk_live_notice(struct hk_live *live, const char *format,
							  ...);
/* Shows view number INDEX. */
void hk_live_show(struct hk_live *live, size_t index);
/* Returns whether the snapshot has the calls that the view shows. */
bool hk_live_has_rows(const struct hk_live *live);

/* Rebuilds the rows of the tab; call it after any change to it. */
void hk_layout_rows(struct hk_live *live);
/* Returns the selected row, or NULL. */
struct hk_row *hk_layout_chosen(struct hk_live *live);
/* Selects the row BY further down, or the last one. */
void hk_layout_move(struct hk_live *live, long by);
/* Selects row INDEX. */
void hk_layout_choose(struct hk_live *live, size_t index);

void hk_draw(struct hk_live *live);
/* Draws the map of the ranks from line TOP on, in at most LINES; returns the number of lines. */
int hk_heat_draw(struct hk_live *live, int top, int lines);

void hk_keys_press(struct hk_live *live, int key);
/* Draws the help from line TOP on, in LINES lines, scrolled to live->help_top. */
void hk_keys_help(struct hk_live *live, int top, int lines);
/* Returns the keys in one line. */
const char *hk_keys_line(void);

void hk_prompt_open(struct hk_live *live, enum hk_prompt prompt);
/* Handles a key while the prompt is open. */
void hk_prompt_press(struct hk_live *live, int key);
/* Writes the text of the last line to TEXT. */
void hk_prompt_text(const struct hk_live *live, char *text, size_t size);

#endif
