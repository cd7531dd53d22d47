#include "cli/tui/terminal.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "cli/command.h"
#include "text/name.h"
#include "text/utf8.h"

/* Last, because it defines macros with common names. */
#include <term.h>

#define LINE_COLUMNS 512
#define SAID_BYTES 4096u
#define ENTRIES "../share/terminfo" /* where deploy/bundle.sh puts them, from the program */
#define RESTORE_BYTES 256u

static struct {
	SCREEN *screen;
	struct termios before;
	char restore[RESTORE_BYTES]; /* bytes that restore the terminal */
	attr_t styles[HK_STYLES];
	int signals[2]; /* a pipe: signal handlers run in any thread */
	int said, stderr_before;
	int signal; /* signal that ended the screen */
	bool utf8;
} terminal = {.signals = {-1, -1}, .said = -1, .stderr_before = -1};

static const int events[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};
static struct sigaction actions_before[sizeof(events) / sizeof(events[0])];

static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

/* Makes ncurses look up terminals beside this program. An image without ncurses has none
 * elsewhere. The variable stays in this process: top starts no program. */
static void use_own_entries(void)
{
	char path[PATH_MAX + sizeof(ENTRIES)];
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);

	if (length > 0 && length < PATH_MAX) {
		path[length] = '\0';
		snprintf(strrchr(path, '/') + 1, sizeof(ENTRIES), "%s", ENTRIES);
		setenv("TERMINFO", path, 1);
	}
}

static bool is_known(void)
{
	int error;

	if (setupterm(NULL, STDOUT_FILENO, &error) == OK) {
		return true;
	}
	use_own_entries();
	return setupterm(NULL, STDOUT_FILENO, &error) == OK;
}

bool hk_terminal_is_able(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !is_known()) {
		return false;
	}
	const char *address = tigetstr((char *)(uintptr_t) "cup");
	bool able = address && address != (char *)-1;
	del_curterm(cur_term);
	return able;
}

/* ---- restoring ---- */

/* Restores the terminal after a crash, when no function of ncurses may be called. */
static void crashed(int number)
{
	size_t length = strlen(terminal.restore);

	if (write(STDOUT_FILENO, terminal.restore, length) == (ssize_t)length) {
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
	}
	signal(number, SIG_DFL);
	raise(number);
}

static void add_restore(const char *bytes)
{
	if (bytes && bytes != (char *)-1) {
		size_t used = strlen(terminal.restore);
		snprintf(terminal.restore + used, sizeof(terminal.restore) - used, "%s", bytes);
	}
}

static void watch_crashes(void)
{
	*terminal.restore = '\0';
	add_restore("\033[?1006;1000l");
	add_restore(tigetstr((char *)(uintptr_t) "sgr0"));
	add_restore(tigetstr((char *)(uintptr_t) "cnorm"));
	add_restore(tigetstr((char *)(uintptr_t) "rmkx"));
	add_restore(tigetstr((char *)(uintptr_t) "rmcup"));
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++) {
		signal(crashes[i], crashed);
	}
}

void hk_terminal_close(void)
{
	if (terminal.screen) {
		endwin();
		delscreen(terminal.screen);
		terminal.screen = NULL;
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
	}
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++) {
		signal(crashes[i], SIG_DFL);
	}
	if (terminal.stderr_before >= 0) {
		fflush(stderr);
		dup2(terminal.stderr_before, STDERR_FILENO);
		close(terminal.stderr_before);
		terminal.stderr_before = -1;
	}
	if (terminal.said >= 0) {
		close(terminal.said);
		terminal.said = -1;
	}
	if (terminal.signals[0] >= 0) {
		for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
			sigaction(events[i], &actions_before[i], NULL);
		}
		close(terminal.signals[0]);
		close(terminal.signals[1]);
		terminal.signals[0] = terminal.signals[1] = -1;
	}
}

/* ---- opening ---- */

static void set_styles(void)
{
	bool colours = hk_command_colour(stdout) && has_colors() && start_color() == OK &&
		       use_default_colors() == OK;

	if (colours) {
		init_pair(1, COLOR_RED, -1);
		init_pair(2, COLOR_GREEN, -1);
	}
	terminal.styles[HK_STYLE_PLAIN] = A_NORMAL;
	terminal.styles[HK_STYLE_STRONG] = A_BOLD;
	terminal.styles[HK_STYLE_FAINT] = A_DIM;
	terminal.styles[HK_STYLE_HEAD] = A_REVERSE;
	terminal.styles[HK_STYLE_HEAD_CHOSEN] = A_REVERSE | A_BOLD | A_UNDERLINE;
	terminal.styles[HK_STYLE_CHOSEN] = A_REVERSE;
	terminal.styles[HK_STYLE_ALERT] = colours ? (attr_t)COLOR_PAIR(1) | A_BOLD : A_BOLD;
	terminal.styles[HK_STYLE_GOOD] = colours ? (attr_t)COLOR_PAIR(2) : A_NORMAL;
}

/* Passes a signal on by the pipe. Runs in any thread: those of the collector's connection do not
 * block signals. */
static void signalled(int number)
{
	int error = errno;
	char byte = (char)number;

	if (write(terminal.signals[1], &byte, 1) < 0) {
		errno = error; /* the pipe is full of other signals */
	}
	errno = error;
}

static int take_signals(void)
{
	const struct sigaction action = {.sa_handler = signalled, .sa_flags = SA_RESTART};

	if (pipe2(terminal.signals, O_CLOEXEC | O_NONBLOCK) < 0) {
		return -errno;
	}
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		sigaction(events[i], &action, &actions_before[i]);
	}
	return 0;
}

static int take_stderr(void)
{
	terminal.said = memfd_create("stderr", MFD_CLOEXEC);
	terminal.stderr_before = dup(STDERR_FILENO);
	if (terminal.said < 0 || terminal.stderr_before < 0 ||
	    dup2(terminal.said, STDERR_FILENO) < 0) {
		return -errno;
	}
	return 0;
}

int hk_terminal_open(bool *ret_utf8)
{
	setlocale(LC_CTYPE, "");
	*ret_utf8 = terminal.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	terminal.signal = 0;
	if (tcgetattr(STDIN_FILENO, &terminal.before) < 0) {
		return -errno;
	}
	int r = take_stderr();
	if (r == 0) {
		terminal.screen = newterm(NULL, stdout, stdin);
		r = terminal.screen ? 0 : -ENOTTY;
	}
	/* Replaces the handlers of ncurses, which exit at once. */
	r = r < 0 ? r : take_signals();
	if (r < 0) {
		hk_terminal_close();
		return r;
	}
	watch_crashes();
	set_styles();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	mouseinterval(0);
	/* ncurses hides unrequested events and keeps waiting: request all of them. */
	mousemask(ALL_MOUSE_EVENTS, NULL);
	return 0;
}

/* ---- events ---- */

static enum hk_event read_signal(void)
{
	struct winsize size;
	char number;

	if (read(terminal.signals[0], &number, 1) != 1) {
		return HK_EVENT_NONE;
	}
	if (number == SIGWINCH) {
		if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 &&
		    size.ws_col > 0) {
			resizeterm(size.ws_row, size.ws_col);
		}
		return HK_EVENT_RESIZE;
	}
	terminal.signal = number;
	return HK_EVENT_END;
}

enum hk_event hk_terminal_wait(int other_fd, int timeout_ms, int *ret_key)
{
	struct pollfd fds[] = {
	    {.fd = STDIN_FILENO, .events = POLLIN},
	    {.fd = terminal.signals[0], .events = POLLIN},
	    {.fd = other_fd, .events = POLLIN},
	};

	/* ncurses may have buffered more keys. */
	*ret_key = getch();
	if (*ret_key != ERR) {
		return *ret_key == KEY_RESIZE ? HK_EVENT_RESIZE : HK_EVENT_KEY;
	}
	if (poll(fds, 3, timeout_ms) <= 0) {
		return HK_EVENT_NONE; /* a signal will be in the pipe next time */
	}
	if (fds[1].revents) {
		return read_signal();
	}
	if (fds[0].revents & POLLIN) {
		*ret_key = getch();
		return *ret_key == ERR ? HK_EVENT_NONE : HK_EVENT_KEY;
	}
	if (fds[0].revents) {
		return HK_EVENT_END;
	}
	return fds[2].revents ? HK_EVENT_OTHER : HK_EVENT_NONE;
}

int hk_terminal_signal(void)
{
	return terminal.signal;
}

bool hk_terminal_said(char *text, size_t size)
{
	char said[SAID_BYTES];

	fflush(stderr);
	off_t end = lseek(terminal.said, 0, SEEK_CUR);
	if (end <= 0) {
		return false;
	}
	off_t from = end > (off_t)sizeof(said) - 1 ? end - (off_t)sizeof(said) + 1 : 0;
	ssize_t length = pread(terminal.said, said, sizeof(said) - 1, from);
	if (ftruncate(terminal.said, 0) < 0 || lseek(terminal.said, 0, SEEK_SET) < 0 ||
	    length <= 0) {
		return false;
	}
	said[length] = '\0';
	while (length > 0 && said[length - 1] == '\n') {
		said[--length] = '\0';
	}
	const char *line = strrchr(said, '\n');
	snprintf(text, size, "%s", line ? line + 1 : said);
	return *text != '\0';
}

/* ---- drawing ---- */

/* Converts TEXT to wide characters, at most WIDTH columns; returns its columns. */
static int widen(const char *text, int width, wchar_t *wide)
{
	int used = 0;

	while (*text && used < width) {
		size_t length = hk_utf8_length(text);
		wchar_t character = L'?';
		mbstate_t state = {0};
		if (length == 1 || (length > 1 && terminal.utf8)) {
			mbrtowc(&character, text, length, &state);
		}
		int taken = wcwidth(character);
		if (taken <= 0) {
			character = L'?';
			taken = 1;
		}
		if (used + taken > width) {
			break;
		}
		*wide++ = character;
		used += taken;
		text += length > 0 ? length : 1;
	}
	*wide = L'\0';
	return used;
}

void hk_terminal_put(int line, int column, int width, enum hk_style style, const char *text,
		     bool right)
{
	char clean[HK_NAME_BYTES(LINE_COLUMNS)];
	wchar_t wide[LINE_COLUMNS + 1];

	width = column + width > COLS ? COLS - column : width;
	width = width > LINE_COLUMNS ? LINE_COLUMNS : width;
	if (line < 0 || line >= LINES || column < 0 || width <= 0) {
		return;
	}
	hk_name_print(clean, (size_t)width, text);
	int used = widen(clean, width, wide);
	int before = right ? width - used : 0;
	attrset(terminal.styles[style]);
	if (style != HK_STYLE_PLAIN || right) {
		mvhline(line, column, ' ' | terminal.styles[style], width);
	}
	mvaddwstr(line, column + before, wide);
	attrset(A_NORMAL);
}
