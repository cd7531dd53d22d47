/* process_calls.h: what one process called, in a few numbers.
 *
 * Pure functions of the snapshot, any thread.
 */
#ifndef HK_REPORT_BUILD_PROCESS_CALLS_H
#define HK_REPORT_BUILD_PROCESS_CALLS_H

#include "schema/wire.pb-c.h"

/* Sums the cells of PROCESS. `most`, which is a site's text, is the function with most time of its
 * own; "" without one. Idle waits are calls, but no time. -ENOMEM. */
int hk_process_calls_sum(const Hk__Process *process, Hk__ProcessCalls *ret_calls);

#endif
