/* overview.h: activity of every rank over time, small enough for a page: per rank and stretch of
 * the job's time (a bin) the time in calls of each domain, and the unknown share of the bin. The
 * source is the records of main processes if all are available and OPTIONS allow to read them all.
 * Otherwise it is the activity that the job's collector summed while the job ran. Without that,
 * some chunks are read, the same share of each process, evenly over its time; the rest of a bin is
 * estimated from its read part, or unknown. Everything lives until hk_overview_free. One thread. */
#ifndef HK_CLI_TABLES_OVERVIEW_H
#define HK_CLI_TABLES_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/tables/overview_bins.h"
#include "report/model/report.h"
#include "schema/wire.pb-c.h"
#include "text/json_stream.h"

/* About one second of reading. */
#define HK_OVERVIEW_RECORDS (UINT64_C(4) << 20)
#define HK_OVERVIEW_CHUNKS 20000u

struct hk_overview_options {
	size_t bins;	  /* not 0 */
	uint64_t records; /* approximate number of records to read at most, not 0 */
	uint64_t chunks;  /* approximate number of chunks to read at most */
	const struct hk_report
	    *report; /* report of the same snapshot, with its activity; NULL: not available */
};

/* Makes the overview of SNAPSHOT's job, whose files lie in DIRECTORY. Returns 0, -ENOMEM, -EMFILE
 * or -ENFILE. *RET_OVERVIEW has no ranks if no process has records. */
int hk_overview_new(const Hk__Snapshot *snapshot, const char *directory,
		    const struct hk_overview_options *options, struct hk_overview **ret_overview);

/* Writes OVERVIEW as member KEY (NULL: an element): start_ns, width_ns, bins, complete, records,
 * records_there, records_missing, damaged, domains[], and ranks[] with rank, start_ns, end_ns and
 * seen. Ranks with records also have calls[] (one per bin), busy {domain: [thousandths of the bin's
 * width, one per bin]}, and, if not empty, lost [[bin, records]] and unknown [[bin,
 * thousandths]]. */
void hk_overview_write(const struct hk_overview *overview, const char *key, struct hk_json *json);

#endif
