/* work_rows.h: times summed by rank and by what they went to. Memory is bounded: of more than
 * HK_WORK_ROWS sums the further ones are counted as one. One owner, no locking. */
#ifndef HK_CLI_DELAY_WORK_ROWS_H
#define HK_CLI_DELAY_WORK_ROWS_H

#include "cli/delay/history.h"

#define HK_WORK_ROWS 65536u
#define HK_WORK_TEXT_BYTES 512

struct hk_work_row {
	uint32_t lane;
	uint64_t key;	  /* history.h */
	double ns;	  /* in all */
	double passed_ns; /* delay.h: part of it */
	uint64_t times;
};

struct hk_work_rows {
	struct hk_work_row *list; /* after hk_work_rows_finish, the largest first */
	size_t count;
	double other_ns; /* without a row */
	struct hk_work_entry *table;
};

void hk_work_rows_fini(struct hk_work_rows *rows);

/* Adds the times of ROW, which counts as one time. Returns 0 or -ENOMEM. */
int hk_work_rows_add(struct hk_work_rows *rows, const struct hk_work_row *row);
/* Returns 0 or -ENOMEM. */
int hk_work_rows_finish(struct hk_work_rows *rows);

/* Writes what KEY is: "read", "own work between MPI_Barrier and MPI_Send". Returns TEXT, of
 * HK_WORK_TEXT_BYTES, which holds no control sequences. */
const char *hk_work_text(const struct hk_history *history, uint64_t key, char *text);

/* Returns the activity whose stack tells where KEY was: of own work the call that followed it. NULL
 * if it has none. */
const struct hk_activity *hk_work_stack(const struct hk_history *history, uint64_t key);

#endif
