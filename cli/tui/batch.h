/* batch.h: snapshots one below the other, for pipes and files.
 *
 * The same views as on a screen, as plain tables. Main thread only.
 */
#ifndef HK_CLI_TUI_BATCH_H
#define HK_CLI_TUI_BATCH_H

#include "cli/tui/view.h"

#define HK_BATCH_ROWS 30u

struct hk_batch {
	const char *job; /* as hk_job_open */
	const struct hk_view *view;
	const char *sort;	 /* title of the sort column; NULL: the view's own */
	bool json;		 /* the report instead of a table */
	bool all_rows;		 /* idle waits, launchers and helpers too */
	unsigned long snapshots; /* 0: until the job ends */
	unsigned long rows;	 /* most rows of a table */
	double delay_s;
};

/* Returns the column of VIEW with the title TITLE in any case; column_count if there is no such. */
size_t hk_batch_column(const struct hk_view *view, const char *title);

/* Writes the snapshots to stdout; returns hookcli's exit code. */
int hk_batch_run(const struct hk_batch *batch);

#endif
