#include "cli/tui/live.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/tui/terminal.h"

#define RETRY_NS 1000000000u

void hk_live_notice(struct hk_live *live, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(live->message, sizeof(live->message), format, arguments);
	va_end(arguments);
}

bool hk_live_has_rows(const struct hk_live *live)
{
	return live->snapshot && live->snapshot->keys == live->tab->view->keys;
}

void hk_live_show(struct hk_live *live, size_t index)
{
	live->tab = &live->tabs[index];
	live->tab->order.totals = live->totals;
	live->wanting |= !hk_live_has_rows(live) || live->tab->expanded;
	hk_layout_rows(live);
}

/* ---- snapshots ---- */

static void take_picture(struct hk_live *live, struct hk_top_snapshot *snapshot)
{
	enum hk_top_snapshot_state state = hk_top_snapshot_state(snapshot);
	bool left = state == HK_TOP_SNAPSHOT_LEFT;

	/* The directory is older than the last answer of a collector that died. */
	if (left && live->snapshot && live->snapshot->keys == snapshot->keys) {
		hk_top_snapshot_free(snapshot);
	} else {
		hk_rows_fini(&live->rows);
		hk_top_snapshot_free(live->snapshot);
		live->snapshot = snapshot;
	}
	live->disconnected = left;
	live->snapshots++;
	hk_layout_rows(live);
}

static void take_level(struct hk_live *live, const struct hk_poller_result *answer)
{
	if (answer->code == HK_EXIT_DONE) {
		hk_live_notice(live, "level set for %u s: %u call sites in %u processes",
			       HK_LIVE_LEVEL_SECONDS, answer->sites, answer->processes);
	}
}

static void take_answer(struct hk_live *live)
{
	struct hk_poller_result answer;
	char said[sizeof(live->message)];

	if (!hk_poller_take(live->poller, &answer)) {
		return;
	}
	bool told = hk_terminal_said(said, sizeof(said));
	if (answer.is_level) {
		take_level(live, &answer);
	} else if (answer.snapshot) {
		take_picture(live, answer.snapshot);
		told = false;
	} else {
		live->disconnected = true;
		live->next_ns = hk_clock_monotonic_ns() + RETRY_NS;
	}
	/* The head already shows that no collector answers. */
	if (told && answer.code != HK_EXIT_ABSENT) {
		hk_live_notice(live, "%s", said);
	}
}

static bool is_over(const struct hk_live *live)
{
	return live->snapshot && hk_top_snapshot_state(live->snapshot) == HK_TOP_SNAPSHOT_ENDED;
}

/* Requests a snapshot if it is due; returns the time to wait for an event. */
static int request_due(struct hk_live *live)
{
	uint64_t now = hk_clock_monotonic_ns();
	bool due = !live->paused && !is_over(live) && now >= live->next_ns;

	if ((due || live->wanting) && !hk_poller_is_busy(live->poller)) {
		const struct hk_tab *tab = live->tab;
		struct hk_top_snapshot_request request = {.job = live->options.job,
							  .keys = tab->view->keys};
		if (tab->expanded && tab->view->below) {
			request.pick = tab->pick;
			request.detail_keys = tab->view->below;
		}
		hk_poller_request(live->poller, &request);
		live->wanting = false;
		live->next_ns = now + (uint64_t)(live->options.delay_s * 1e9);
	}
	if (live->paused || is_over(live) || live->next_ns <= now) {
		return 1000;
	}
	return (int)((live->next_ns - now) / 1000000u) + 1;
}

/* ---- the whole ---- */

static bool panes_init(struct hk_live *live)
{
	live->head = hk_history_new();
	for (size_t i = 0; i < HK_VIEWS; i++) {
		struct hk_tab *tab = &live->tabs[i];
		const struct hk_view *view = hk_views[i];
		tab->view = view;
		tab->order = (struct hk_order){.columns = view->columns,
					       .column_count = view->column_count,
					       .column = view->sort,
					       .reverse = view->rising};
		tab->history = hk_history_new();
		tab->below = hk_history_new();
		if (!tab->history || !tab->below) {
			return false;
		}
		if (view == live->options.view) {
			live->tab = tab;
			if (live->options.sort < view->column_count) {
				tab->order.column = live->options.sort;
				tab->order.reverse = false;
			}
		}
	}
	return live->head;
}

static void fini(struct hk_live *live)
{
	hk_rows_fini(&live->rows);
	live->snapshot = hk_top_snapshot_free(live->snapshot);
	hk_history_free(live->head);
	for (size_t i = 0; i < HK_VIEWS; i++) {
		struct hk_tab *tab = &live->tabs[i];
		hk_history_free(tab->history);
		hk_history_free(tab->below);
		free(tab->chosen);
		free(tab->expanded);
		hk_pick_fini(&tab->pick);
	}
}

static void watch(struct hk_live *live)
{
	while (!live->quit) {
		int key, timeout_ms = request_due(live);
		hk_draw(live);
		switch (hk_terminal_wait(hk_poller_fd(live->poller), timeout_ms, &key)) {
		case HK_EVENT_KEY:
			if (live->prompt != HK_PROMPT_NONE) {
				hk_prompt_press(live, key);
			} else {
				hk_keys_press(live, key);
			}
			break;
		case HK_EVENT_OTHER:
			take_answer(live);
			break;
		case HK_EVENT_END:
			live->quit = true;
			break;
		default:
			break;
		}
		live->quit |=
		    live->options.snapshots > 0 && live->snapshots >= live->options.snapshots;
	}
}

/* Ends the process by the signal that ended the screen. */
static void pass_signal(void)
{
	int number = hk_terminal_signal();

	if (number != 0 && number != SIGINT) {
		signal(number, SIG_DFL);
		raise(number);
	}
}

/* Takes the first snapshot before the screen opens, so that errors are printed as by other
 * commands. */
static int first(struct hk_live *live)
{
	const struct hk_top_snapshot_request request = {.job = live->options.job,
							.keys = live->options.view->keys};

	return hk_top_snapshot_take(&request, &live->snapshot);
}

int hk_live_run(const struct hk_live_options *options)
{
	static struct hk_live
	    live; /* static, because a thread that never ends may still access it */

	live = (struct hk_live){.options = *options, .all_rows = options->all_rows};
	int code = first(&live);
	if (!live.snapshot) {
		return code;
	}
	int r = panes_init(&live) ? hk_terminal_open(&live.utf8) : -ENOMEM;
	if (r == 0) {
		r = hk_poller_new(&live.poller);
	}
	if (r < 0) {
		hk_terminal_close();
		hk_error("cannot show a screen: %s; try hookcli top -b", strerror(-r));
		fini(&live);
		return HK_EXIT_FAILED;
	}
	live.disconnected = hk_top_snapshot_state(live.snapshot) == HK_TOP_SNAPSHOT_LEFT;
	live.snapshots = 1;
	live.next_ns = hk_clock_monotonic_ns() + (uint64_t)(live.options.delay_s * 1e9);
	hk_layout_rows(&live);
	watch(&live);
	hk_terminal_close();
	bool ended = hk_poller_free(live.poller);
	pass_signal();
	if (!ended) {
		_exit(HK_EXIT_DONE); /* do not wait for a collector that does not answer */
	}
	fini(&live);
	return HK_EXIT_DONE;
}
