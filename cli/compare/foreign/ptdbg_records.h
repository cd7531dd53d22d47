/* ptdbg_records.h: the records of ptdbg_ascend's ".pkl", which is text: JSON arrays, one or several
 * on a line. One owner. */
#ifndef HK_CLI_COMPARE_FOREIGN_PTDBG_RECORDS_H
#define HK_CLI_COMPARE_FOREIGN_PTDBG_RECORDS_H

#include "cli/compare/array/array.h"
#include "cli/compare/foreign/rows.h"

/* Adds the rows of the file PATH, of SIZE bytes TEXT. Elements are looked for in DIRECTORY, which
 * may be NULL. Text that is no record is said by hk_foreign_rows_damaged. Returns 0, or -ENOMEM. */
int hk_ptdbg_records_read(struct hk_foreign_rows *rows, const void *text, size_t size,
			  const char *directory);

#endif
