/* terminal.h: the terminal while top uses it. Between open and close the terminal is ncurses', and
 * stderr goes to memory. Signals that end, stop by key or resize are events. The terminal is
 * restored however the program ends. Only colours that are readable on light and dark are used,
 * over the terminal's own background. Main thread only; there is one terminal. */
#ifndef HK_CLI_TUI_TERMINAL_H
#define HK_CLI_TUI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

enum hk_style {
	HK_STYLE_PLAIN,
	HK_STYLE_STRONG,
	HK_STYLE_FAINT,
	HK_STYLE_HEAD, /* head of a table */
	HK_STYLE_HEAD_CHOSEN,
	HK_STYLE_CHOSEN,
	HK_STYLE_ALERT,
	HK_STYLE_GOOD,
	HK_STYLES,
};

/* Returns whether standard input and output are a terminal that can show a screen. */
bool hk_terminal_is_able(void);

/* Opens the terminal and sets *RET_UTF8 if its locale is UTF-8. Returns 0, -ENOTTY or another
 * -errno. */
int hk_terminal_open(bool *ret_utf8);
void hk_terminal_close(void);

enum hk_event {
	HK_EVENT_NONE, /* the time is over */
	HK_EVENT_KEY,
	HK_EVENT_RESIZE,
	HK_EVENT_OTHER, /* OTHER_FD is readable */
	HK_EVENT_END,	/* a signal, or the terminal was closed */
};

/* Waits for an event. Sets *RET_KEY to ncurses' code of a key. */
enum hk_event hk_terminal_wait(int other_fd, int timeout_ms, int *ret_key);

/* Returns the signal behind HK_EVENT_END, or 0. */
int hk_terminal_signal(void);

/* Copies the last line written to stderr since the last call to TEXT, at most SIZE - 1 bytes.
 * Returns false if there is none. */
bool hk_terminal_said(char *text, size_t size);

/* Writes TEXT, which may hold any bytes, into WIDTH columns, padded with blanks; RIGHT:
 * right-aligned. */
void hk_terminal_put(int line, int column, int width, enum hk_style style, const char *text,
		     bool right);

#endif
