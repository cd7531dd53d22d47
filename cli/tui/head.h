/* head.h: the lines above and below the table of every view: the job as a whole. Text lines, for
 * screen and batch alike. No state but the history of the job's own figures. */
#ifndef HK_CLI_TUI_HEAD_H
#define HK_CLI_TUI_HEAD_H

#include <stdio.h>

#include "cli/tui/history.h"
#include "cli/tui/snapshot.h"

/* Writes two lines: the job and its STATE, such as "LIVE 1s". HISTORY is the head's own. UTF8: not
 * only ASCII. */
void hk_head_write(const struct hk_top_snapshot *snapshot, struct hk_history *history,
		   const char *state, bool utf8, FILE *output);

/* Writes warnings, each line with "! "; no line if there is no problem. */
void hk_head_warn(const struct hk_top_snapshot *snapshot, FILE *output);

/* Writes open calls, the rank with the most memory, and notes. */
void hk_foot_write(const struct hk_top_snapshot *snapshot, FILE *output);

#endif
