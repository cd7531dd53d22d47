/* view.h: what top can show of a job, one file each (view_*.c).
 *
 * A view says which columns it has and fills rows from a shot; screen and batch writer show the
 * rows of any view in the same way. Used by one thread at a time.
 */
#ifndef HK_CLI_TUI_VIEW_H
#define HK_CLI_TUI_VIEW_H

#include "cli/tui/history.h"
#include "cli/tui/rows.h"
#include "cli/tui/snapshot.h"

/* A shot, and what was counted in those before it. */
struct hk_scene {
	const struct hk_top_snapshot *shot;
	struct hk_history *history; /* of the view's rows */
	struct hk_history *below;   /* of those of the row that is expanded */
};

struct hk_view {
	const char *name;  /* on its tab */
	const char *word;  /* of --view */
	const char *alias; /* another one; NULL: none */
	const char *empty; /* what to say where there is no row */
	unsigned keys;	   /* HK_GROUP_*: the calls it needs, folded so */
	unsigned below;	   /* the calls of a row that is expanded; 0: they are not asked for */
	const struct hk_column *columns;
	size_t column_count, sort; /* sort: the column that it begins sorted by */
	/* Adds the rows; a failure is the rows'. */
	void (*fill)(const struct hk_scene *scene, struct hk_rows *rows);
	/* Adds the rows of PARENT; NULL: none can be expanded. */
	void (*expand)(const struct hk_scene *scene, const struct hk_row *parent,
		       struct hk_rows *rows);
	const char *rows_below; /* what those are: "ranks" */
	bool rising;		/* it begins with the lowest number */
	/* Columns of a map of the ranks where texts are sorted by: the first one if any rank has a
	 * number in it, else the second; 0: there is no map. The first column of the view is the
	 * rank then, the second its node. */
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

/* The view that WORD begins, NULL if there is none or several. */
const struct hk_view *hk_view_find(const char *word);

/* ---- for views ---- */

/* Counts the calls of GROUP for ROW, of RANKS ranks: what they grow by into these cells, in this
 * order. SELF: their time is their own, not that of what they call. */
enum hk_view_calls {
	HK_VIEW_RATE = 0,
	HK_VIEW_BUSY = 1,
	HK_VIEW_ERRORS = 2,
	HK_VIEW_CALLS = 3, /* how many these are */
};
void hk_view_count(struct hk_history *history, struct hk_row *row, const struct hk_group *group,
		   double ranks, bool self, struct hk_table_cell cells[HK_VIEW_CALLS]);

/* How many ranks the job has, on HOST if it is not NULL. */
double hk_view_ranks_of(const struct hk_top_snapshot *shot, const char *host);

/* The main role's text is empty: nearly all are. */
const char *hk_view_role(const char *role);

/* Adds a row for GROUP under PREFIX and its own keys. */
struct hk_row *hk_view_add(struct hk_rows *rows, const char *prefix, const struct hk_group *group);

/* The rank's row of the report; NULL: none. */
const struct hk_report_rank *hk_view_rank(const struct hk_report *report, int32_t rank);

/* Index of the first of the report's memory rows of RANK, or where it would be. */
size_t hk_view_memory_of(const struct hk_report *report, int32_t rank);

/* Adds the rows of the shot's detail below PARENT, if it is PARENT's; the name of each and what
 * else is not of its calls is NAME's to set. CELLS: where those of hk_view_count go; LATENCY: p50
 * and p99, 0: nowhere. */
struct hk_view_below {
	size_t rate, busy, errors, latency;
	void (*name)(const struct hk_scene *scene, const struct hk_group *group,
		     struct hk_rows *rows, struct hk_row *row);
};
void hk_view_expand(const struct hk_scene *scene, const struct hk_row *parent, struct hk_rows *rows,
		    const struct hk_view_below *below);

#endif
