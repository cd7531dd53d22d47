/* thread_table.h: calls by thread. Statistics do not distinguish threads, records do: this table
 * reads the job's chunks, so it lacks lost records and calls below level `record`. */
#ifndef HK_CLI_TABLES_THREAD_TABLE_H
#define HK_CLI_TABLES_THREAD_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/job/job.h"

/* Writes one row per thread of `job` to `output`, and sorts the snapshot's processes by rank.
 * Returns 0, -EBADMSG if some chunks were unreadable and only the rest is shown, -ENOMEM or
 * -errno. */
int hk_thread_table_write(const struct hk_job *job, FILE *output, bool colour);

#endif
