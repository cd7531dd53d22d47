/* msprobe_rows.h: the rows of one of msprobe's directories: dump.json, with stack.json and
 * construct.json if they are there. One owner. */
#ifndef HK_CLI_COMPARE_FOREIGN_MSPROBE_ROWS_H
#define HK_CLI_COMPARE_FOREIGN_MSPROBE_ROWS_H

#include "cli/compare/array/array.h"
#include "cli/compare/foreign/rows.h"

/* Adds the rows of DIRECTORY as those of STEP, numbered from *SEQUENCE, which is moved on. Returns
 * 0 or -errno with REASON; rows may have been added then. */
int hk_msprobe_rows_read(struct hk_foreign_rows *rows, const char *directory, uint64_t step,
			 uint64_t *sequence, char reason[HK_ARRAY_REASON_BYTES]);

#endif
