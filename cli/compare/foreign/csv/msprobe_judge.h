/* msprobe_judge.h: what msprobe objects to in the lines of each call, by its own rules. Pure. */
#ifndef HK_CLI_COMPARE_FOREIGN_CSV_MSPROBE_JUDGE_H
#define HK_CLI_COMPARE_FOREIGN_CSV_MSPROBE_JUDGE_H

#include "cli/compare/foreign/csv/msprobe_lines.h"

/* Sets `is_first` and `objections` of LINES. ELEMENTS: the rules for elements, else for statistics.
 * Returns 0 or -ENOMEM. */
int hk_msprobe_judge(struct hk_msprobe_lines *lines, bool elements);

/* Writes the objections as a list of JSON to TEXT: ["error: ..."]. */
#define HK_OBJECTIONS_BYTES 768
const char *hk_msprobe_objections(char text[HK_OBJECTIONS_BYTES], unsigned objections);

/* "pass", "warning" or "error". */
const char *hk_msprobe_result(unsigned objections);

#endif
