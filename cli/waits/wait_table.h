/* wait_table.h: writes what ranks waited for each other. Main thread only. */
#ifndef HK_CLI_WAITS_WAIT_TABLE_H
#define HK_CLI_WAITS_WAIT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/waits/waits.h"

/* Writes sums by function and pattern, and by the awaited rank. Returns 0, -EIO or -ENOMEM. */
int hk_wait_table_write_text(const struct hk_waits *waits, FILE *output, bool colour);
/* Write all rows: what each rank waited for each other one. Return 0 or -EIO. */
int hk_wait_table_write_json(const struct hk_waits *waits, FILE *output);
int hk_wait_table_write_csv(const struct hk_waits *waits, FILE *output);

#endif
