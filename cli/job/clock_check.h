/* clock_check.h: checks the clocks of a job's nodes by the job's recorded calls. No rank leaves a
 * `sync=all` call before the last rank has entered it. Calls that contradict the clocks are
 * counted; the others limit the clocks' errors, often more closely than round trips to the root.
 * Main thread only. */
#ifndef HK_CLI_JOB_CLOCK_CHECK_H
#define HK_CLI_JOB_CLOCK_CHECK_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

/* Limit for screens, one to two seconds of reading; an export reads all records anyway. */
#define HK_CLOCKS_SCREEN_RECORDS (UINT64_C(16) << 20)

/* Reads the records of SNAPSHOT's job, whose files lie in DIRECTORY, if there are at most LIMIT and
 * the job had several nodes and such calls. Sets `sync_checks` and `sync_violations` of the job and
 * its nodes, and tightens the bounds of the nodes' clock maps as far as the calls allow. Bounded
 * memory. Unreadable parts are skipped; with too many files to open nothing is checked. Returns 0
 * or -ENOMEM. */
int hk_clocks_check(Hk__Snapshot *snapshot, const char *directory, uint64_t limit);

#endif
