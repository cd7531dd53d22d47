/* Text typed in the last line: a search, a filter, a delay, the level of a row. */
#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tui/live.h"
#include "hooks/hook.h"

#define KEY_ESCAPE 27
#define KEY_RUBOUT 127
#define KEY_BACK 8
#define KEY_CONTROL_U 21
#define DELAY_LEAST 0.05
#define DELAY_MOST 3600

static const struct {
	char key;
	uint32_t level;
} levels[] = {
    {'o', HK_LEVEL_OFF},  {'c', HK_LEVEL_COUNT},  {'s', HK_LEVEL_SAMPLE},
    {'t', HK_LEVEL_TIME}, {'r', HK_LEVEL_RECORD}, {'a', HK_LEVEL_ARGS},
};

void hk_prompt_open(struct hk_live *live, enum hk_prompt prompt)
{
	live->prompt = prompt;
	snprintf(live->word, sizeof(live->word), "%s",
		 prompt == HK_PROMPT_FILTER ? live->tab->filter : "");
}

void hk_prompt_text(const struct hk_live *live, char *text, size_t size)
{
	switch (live->prompt) {
	case HK_PROMPT_FIND:
		snprintf(text, size, "find: %s_", live->word);
		break;
	case HK_PROMPT_FILTER:
		snprintf(text, size, "only rows with: %s_", live->word);
		break;
	case HK_PROMPT_DELAY:
		snprintf(text, size, "seconds between two looks (now %g): %s_",
			 live->options.delay_s, live->word);
		break;
	default:
		snprintf(
		    text, size,
		    "level for %u s: o off  c count  s sample  t time  r record  a record+args",
		    HK_LIVE_LEVEL_SECONDS);
		break;
	}
}

/* ---- level ---- */

static void set_level(struct hk_live *live, int key)
{
	const struct hk_row *row = hk_layout_chosen(live);
	const char *function = row ? row->pick.function : NULL;

	live->prompt = HK_PROMPT_NONE;
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (levels[i].key != key || !function) {
			continue;
		}
		if (!hk_poller_level(live->poller, live->snapshot, function, levels[i].level,
				     HK_LIVE_LEVEL_SECONDS)) {
			hk_live_notice(live,
				       "the collector has not answered the last look yet: again");
		}
		return;
	}
	hk_live_notice(live, "no level was changed");
}

/* ---- words ---- */

static void find(struct hk_live *live)
{
	snprintf(live->sought, sizeof(live->sought), "%s", live->word);
	for (size_t i = 0; i < live->rows.count; i++) {
		if (hk_row_has(&live->rows.rows[i], &live->tab->order, live->sought)) {
			hk_layout_choose(live, i);
			return;
		}
	}
	hk_live_notice(live, "nothing here has '%s'", live->sought);
}

static void set_delay(struct hk_live *live)
{
	char *end;
	double delay = strtod(live->word, &end);

	if (end == live->word || *end || !(delay >= DELAY_LEAST && delay <= DELAY_MOST)) {
		hk_live_notice(live, "'%s' is no time from %g to %d seconds", live->word,
			       DELAY_LEAST, DELAY_MOST);
		return;
	}
	live->options.delay_s = delay;
	live->wanting = !live->paused;
}

static void accept(struct hk_live *live)
{
	enum hk_prompt prompt = live->prompt;

	live->prompt = HK_PROMPT_NONE;
	if (prompt == HK_PROMPT_FIND && *live->word) {
		find(live);
	} else if (prompt == HK_PROMPT_FILTER) {
		memcpy(live->tab->filter, live->word, sizeof(live->word));
		hk_layout_rows(live);
	} else if (prompt == HK_PROMPT_DELAY && *live->word) {
		set_delay(live);
	}
}

/* Removes the last character, which may be several bytes. */
static void rub_out(char *word)
{
	size_t length = strlen(word);

	while (length > 0 && (word[length - 1] & 0xc0) == 0x80) {
		length--;
	}
	word[length > 0 ? length - 1 : 0] = '\0';
}

void hk_prompt_press(struct hk_live *live, int key)
{
	size_t length = strlen(live->word);

	if (live->prompt == HK_PROMPT_LEVEL) {
		set_level(live, key);
	} else if (key == KEY_ESCAPE) {
		live->prompt = HK_PROMPT_NONE;
	} else if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		accept(live);
	} else if (key == KEY_CONTROL_U) {
		*live->word = '\0';
	} else if (key == KEY_BACKSPACE || key == KEY_RUBOUT || key == KEY_BACK) {
		rub_out(live->word);
	} else if (key >= ' ' && key < 256 && length + 1 < sizeof(live->word)) {
		live->word[length] = (char)key;
		live->word[length + 1] = '\0';
	}
}
