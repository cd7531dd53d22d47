/* overview.h: what every rank did when, in so few numbers that a page can show them: per rank and
 * stretch of the job's time (a bin) how long it was in calls of each domain, and what of the bin is
 * not known.
 *
 * It comes from the records of main processes if all are there and OPTIONS allow to read them all.
 * Otherwise it comes from what the job's collector saw while the job ran. Where no collector did,
 * some chunks are read, the same share of each process, evenly over its time; the rest is estimated
 * from those of the same bin, or not known. Everything lives until hk_overview_free. One thread.
 */
#ifndef HK_CLI_TABLES_OVERVIEW_H
#define HK_CLI_TABLES_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/tables/overview_bins.h"
#include "report/model/report.h"
#include "schema/wire.pb-c.h"
#include "text/json_stream.h"

/* About a second of reading. */
#define HK_OVERVIEW_RECORDS (UINT64_C(4) << 20)
#define HK_OVERVIEW_CHUNKS 20000u

struct hk_overview_options {
	size_t bins;			/* 1 to HK_OVERVIEW_BINS_MAX */
	uint64_t records;		/* about how many are read at the most, not 0 */
	uint64_t chunks;		/* likewise */
	const struct hk_report *report; /* of the same snapshot, with its activity; NULL: none */
};

/* The overview of SNAPSHOT's job, whose files lie in DIRECTORY. 0 and *RET_OVERVIEW, whose ranks
 * are none if no process has records; -ENOMEM; -EMFILE, -ENFILE. */
int hk_overview_new(const Hk__Snapshot *snapshot, const char *directory,
		    const struct hk_overview_options *options, struct hk_overview **ret_overview);

/* As member KEY (NULL: an element): start_ns, width_ns, bins, complete, records, records_there,
 * records_missing, damaged, domains[], and ranks[] with rank, start_ns, end_ns, seen, and, where it
 * has records, calls[] (a bin each), busy {domain: [thousandths of the bin's width, a bin each]},
 * lost
 * [[bin, records]] and unknown [[bin, thousandths]], both where there are any. */
void hk_overview_write(const struct hk_overview *overview, const char *key, struct hk_json *json);

#endif
