/* stream_table.h: what each stream of each device did, and for which share of the time it was busy.
 * Records have the streams: the table reads the job's chunks, so it lacks lost records. */
#ifndef HK_CLI_TABLES_STREAM_TABLE_H
#define HK_CLI_TABLES_STREAM_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/job/job.h"

/* Writes one row per stream of `job` to `output`. Returns 0, -EBADMSG if some chunks were
 * unreadable and only the rest is shown, -ENOMEM or -errno. */
int hk_stream_table_write(const struct hk_job *job, FILE *output, bool colour);

#endif
