/* process_calls.h: sums the calls of one process.
 *
 * Pure functions of the snapshot, any thread.
 */
#ifndef HK_REPORT_BUILD_PROCESS_CALLS_H
#define HK_REPORT_BUILD_PROCESS_CALLS_H

#include "schema/wire.pb-c.h"

/* Sums the cells of PROCESS. Idle waits count as calls, but not as time. `most` becomes the
 * function of the call site with the most self time, or "" if there is none. It is a text of
 * PROCESS. Returns 0 or -ENOMEM. */
int hk_process_calls_sum(const Hk__Process *process, Hk__ProcessCalls *ret_calls);

#endif
