/* clock_check.h: the clocks of a job's nodes, checked by the calls that the job recorded.
 *
 * Nobody leaves a `sync=all` call before the last rank has entered it. Calls that contradict the
 * clocks are counted; the others say how wrong the clocks can be at most, which is often less than
 * the round trips to the root could tell. Main thread only.
 */
#ifndef HK_CLI_JOB_CLOCK_CHECK_H
#define HK_CLI_JOB_CLOCK_CHECK_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

/* A screen does not read more than this, a second or two: an export, which reads all anyway, does.
 */
#define HK_CLOCKS_SCREEN_RECORDS (UINT64_C(16) << 20)

/* Reads the records of SNAPSHOT's job, whose files lie in DIRECTORY, if there are no more than
 * LIMIT, it had several nodes and such calls. Sets `sync_checks` and `sync_violations` of the job
 * and its nodes, and makes the bounds of the nodes' clock maps as small as the calls allow. Bounded
 * memory. What cannot be read is left out; with too many files to open nothing is looked at. 0 or
 * -ENOMEM. */
int hk_clocks_check(Hk__Snapshot *snapshot, const char *directory, uint64_t limit);

#endif
