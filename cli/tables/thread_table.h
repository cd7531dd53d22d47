/* thread_table.h: calls by thread. Statistics do not tell threads apart, records do: this reads
 * the job's chunks, so lost records and calls below level `record` are missing from it. */
#ifndef HK_CLI_TABLES_THREAD_TABLE_H
#define HK_CLI_TABLES_THREAD_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/job/job.h"

/* Writes one row per thread of `job` to `output`, which sorts the snapshot's processes by rank. 0;
 * -EBADMSG: some chunks could not be read, the rest is shown; -ENOMEM, -errno. */
int hk_thread_table_write(const struct hk_job *job, FILE *output, bool colour);

#endif
