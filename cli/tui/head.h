/* head.h: what stands above and below the table of every view: the job as a whole.
 *
 * Lines of text, for screen and batch alike. No state but the history of the job's own figures.
 */
#ifndef HK_CLI_TUI_HEAD_H
#define HK_CLI_TUI_HEAD_H

#include <stdio.h>

#include "cli/tui/history.h"
#include "cli/tui/snapshot.h"

/* Which job it is and how it does, two lines; STATE: "LIVE 1s". HISTORY is the head's own. UTF8:
 * else in ASCII. */
void hk_head_write(const struct hk_top_snapshot *shot, struct hk_history *history,
		   const char *state, bool utf8, FILE *output);

/* Lines, each with "! ", of what the reader must know; nothing if all is well. */
void hk_head_warn(const struct hk_top_snapshot *shot, FILE *output);

/* Calls that do not return, the rank with the most memory, and notes. */
void hk_foot_write(const struct hk_top_snapshot *shot, FILE *output);

#endif
