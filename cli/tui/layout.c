/* The rows of a tab as shown: filtered, sorted, one of them expanded. */
#include <stdlib.h>
#include <string.h>

#include "cli/tui/live.h"

/* Inserts BELOW behind row AT of ROWS and takes over its memory. */
static void insert(struct hk_rows *rows, size_t at, struct hk_rows *below)
{
	struct hk_row *all = malloc((rows->count + below->count + 1) * sizeof(*all));
	char **texts =
	    realloc(rows->texts, (rows->text_count + below->text_count + 1) * sizeof(*texts));

	rows->texts = texts ? texts : rows->texts;
	if (!all || !texts) {
		rows->failed = true;
		free(all);
		hk_rows_fini(below);
		return;
	}
	memcpy(all, rows->rows, (at + 1) * sizeof(*all));
	if (below->count > 0) {
		memcpy(all + at + 1, below->rows, below->count * sizeof(*all));
		memcpy(texts + rows->text_count, below->texts, below->text_count * sizeof(*texts));
	}
	memcpy(all + at + 1 + below->count, rows->rows + at + 1,
	       (rows->count - at - 1) * sizeof(*all));
	free(rows->rows);
	free(below->rows);
	free(below->texts);
	rows->rows = all;
	rows->count += below->count;
	rows->room = rows->count;
	rows->text_count += below->text_count;
	rows->text_room = rows->text_count + 1;
	*below = (struct hk_rows){.rows = NULL};
}

static void expand(struct hk_live *live, const struct hk_scene *scene)
{
	struct hk_tab *tab = live->tab;
	size_t at = tab->expanded ? hk_rows_find(&live->rows, tab->expanded) : live->rows.count;
	struct hk_rows below = {.rows = NULL};

	if (at == live->rows.count) {
		return;
	}
	tab->view->expand(scene, &live->rows.rows[at], &below);
	hk_rows_sort(&below, &tab->order);
	if (!tab->all) {
		hk_rows_shorten(&below, &tab->order, tab->view->rows_below);
	}
	for (size_t i = 0; i < below.count; i++) {
		below.rows[i].depth = 1;
	}
	insert(&live->rows, at, &below);
}

void hk_layout_rows(struct hk_live *live)
{
	struct hk_tab *tab = live->tab;
	const struct hk_top_snapshot *snapshot = live->snapshot;
	const struct hk_scene scene = {snapshot, tab->history, tab->below};

	hk_rows_fini(&live->rows);
	live->rows.failed = false;
	live->hidden = 0;
	if (!hk_live_has_rows(live)) {
		return;
	}
	bool whole = hk_top_snapshot_state(snapshot) != HK_TOP_SNAPSHOT_LIVE;
	hk_history_begin(tab->history, snapshot->duration_ns, whole);
	tab->view->fill(&scene, &live->rows);
	live->hidden = live->all_rows ? 0 : hk_rows_hide(&live->rows);
	hk_rows_filter(&live->rows, &tab->order, tab->filter);
	hk_rows_sort(&live->rows, &tab->order);
	if (tab->expanded && tab->view->expand) {
		hk_history_begin(tab->below, snapshot->duration_ns, whole);
		expand(live, &scene);
	}
	if (live->rows.failed) {
		hk_live_notice(live, "out of memory: not all rows are here");
	}
	/* The selected row stays selected at its new place; if it was removed, the row in its place
	 * is. */
	size_t at = tab->chosen ? hk_rows_find(&live->rows, tab->chosen) : live->rows.count;
	if (at < live->rows.count) {
		tab->line = at;
	} else {
		hk_layout_move(live, 0);
	}
}

struct hk_row *hk_layout_chosen(struct hk_live *live)
{
	struct hk_tab *tab = live->tab;

	return tab->line < live->rows.count ? &live->rows.rows[tab->line] : NULL;
}

void hk_layout_choose(struct hk_live *live, size_t index)
{
	struct hk_tab *tab = live->tab;

	if (index < live->rows.count) {
		free(tab->chosen);
		tab->line = index;
		tab->chosen = strdup(live->rows.rows[index].key);
	}
}

void hk_layout_move(struct hk_live *live, long by)
{
	struct hk_tab *tab = live->tab;
	long last = (long)live->rows.count - 1, to = (long)tab->line + by;

	tab->line = (size_t)(to < 0 ? 0 : to > last ? (last < 0 ? 0 : last) : to);
	/* Until the user moves, the first row is selected, in any order. */
	if (by != 0) {
		hk_layout_choose(live, tab->line);
	}
}
