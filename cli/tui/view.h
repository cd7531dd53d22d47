/* view.h: the views of top, one file each in views/. A view has columns and fills rows from a
 * snapshot; screen and batch writer show the rows of any view in the same way. Used by one thread
 * at a time. */
#ifndef HK_CLI_TUI_VIEW_H
#define HK_CLI_TUI_VIEW_H

#include "cli/tui/history.h"
#include "cli/tui/rows.h"
#include "cli/tui/snapshot.h"

/* A snapshot, and the counts of those before it. */
struct hk_scene {
	const struct hk_top_snapshot *snapshot;
	struct hk_history *history; /* for the view's rows */
	struct hk_history *below;   /* for the rows below the expanded one */
};

struct hk_view {
	const char *name;  /* title of its tab */
	const char *word;  /* value of --view */
	const char *alias; /* another value; NULL: none */
	const char *empty; /* message if there are no rows */
	unsigned keys;	   /* HK_GROUP_*: keys by which it needs calls folded */
	unsigned below;	   /* keys of the calls of an expanded row; 0: not requested */
	const struct hk_column *columns;
	size_t column_count, sort; /* sort: the initial sort column */
	/* Adds the rows; errors stay in the rows. */
	void (*fill)(const struct hk_scene *scene, struct hk_rows *rows);
	/* Adds the rows of PARENT; NULL: rows cannot be expanded. */
	void (*expand)(const struct hk_scene *scene, const struct hk_row *parent,
		       struct hk_rows *rows);
	const char *rows_below; /* name of these: "ranks" */
	bool rising;		/* initially sorted with the lowest number first */
	/* Columns of the map of ranks if the sort column has texts: the first if any rank has a
	 * number in it, else the second; 0: no map. The view's first column must be the rank, its
	 * second the node. */
	size_t heat[2];
};

/* All views, in the order of their keys: views/<name>.c defines `const struct hk_view
 * hk_view_<name>`; WORD is its name for --view. */
#define HK_VIEW_LIST(X)         \
	X(functions, functions) \
	X(ranks, ranks)         \
	X(libraries, libraries) \
	X(memory, memory)       \
	X(open, open)           \
	X(nodes, nodes)         \
	X(coverage, processes)

#define HK_VIEW_DECLARE(name, word) extern const struct hk_view hk_view_##name;
HK_VIEW_LIST(HK_VIEW_DECLARE)

#define HK_VIEW_NUMBER(name, word) HK_VIEW_NUMBER_##name,
enum { HK_VIEW_LIST(HK_VIEW_NUMBER) HK_VIEWS };
extern const struct hk_view *const hk_views[HK_VIEWS];

/* Returns the view with a word or alias that begins with WORD, or NULL if there is none or
 * several. */
const struct hk_view *hk_view_find(const char *word);

/* ---- for views ---- */

/* Counts the calls of GROUP for ROW, of RANKS ranks, into these cells, in this order. SELF: time
 * without callees. */
enum hk_view_calls {
	HK_VIEW_RATE = 0,
	HK_VIEW_BUSY = 1,
	HK_VIEW_ERRORS = 2,
	HK_VIEW_CALLS = 3, /* number of these */
};
void hk_view_count(struct hk_history *history, struct hk_row *row, const struct hk_group *group,
		   double ranks, bool self, struct hk_table_cell cells[HK_VIEW_CALLS]);

/* Returns the role as text. The main role is "", since nearly all are. */
const char *hk_view_role(const char *role);

/* Adds a row for GROUP under PREFIX and its own keys. */
struct hk_row *hk_view_add(struct hk_rows *rows, const char *prefix, const struct hk_group *group);

/* Returns the rank's row of the report, or NULL. */
const struct hk_report_rank *hk_view_rank(const struct hk_report *report, int32_t rank);

/* Returns the index of the first of the report's memory rows of RANK, or where such a row would be
 * inserted. */
size_t hk_view_memory_of(const struct hk_report *report, int32_t rank);

/* Adds the rows of the snapshot's detail below PARENT, if it is PARENT's; NAME sets their names and
 * further cells. RATE, BUSY, ERRORS: cells for those of hk_view_count. LATENCY: cell of p50,
 * followed by that of p99; 0: none. */
struct hk_view_below {
	size_t rate, busy, errors, latency;
	void (*name)(const struct hk_scene *scene, const struct hk_group *group,
		     struct hk_rows *rows, struct hk_row *row);
};
void hk_view_expand(const struct hk_scene *scene, const struct hk_row *parent, struct hk_rows *rows,
		    const struct hk_view_below *below);

#endif
