/* thread_table.h: calls by thread. Statistics do not tell threads apart, records do: this reads
 * the job's chunks, so lost records and calls below level `record` are missing from it. */
#ifndef HK_THREAD_TABLE_H
#define HK_THREAD_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "job.h"

/* Writes one row per thread of `job` to `output`, which sorts the snapshot's processes by rank. 0;
 * -EBADMSG: some chunks could not be read, the rest is shown; -ENOMEM, -errno. */
int hk_thread_table_write(const struct hk_job *job, FILE *output, bool colour);

#endif
