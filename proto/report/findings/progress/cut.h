/* cut.h: finds a host from which nothing gets through to the others, from connections on which
 * ranks that make no progress sent the same data again and again. Locked by the caller.
 */
#ifndef HK_REPORT_FINDINGS_PROGRESS_CUT_H
#define HK_REPORT_FINDINGS_PROGRESS_CUT_H

#include <stdbool.h>

#include "report/finding/finding.h"

/* Adds at most one finding. Of connections between ranks it is of kind "hang" if all ranks that are
 * there make no progress. It names the ranks of a host that is an end of all connections, if these
 * have two other ends at least; otherwise it is not known which end is cut off. If ranks make
 * progress, or the connections are to other hosts, it is of kind "stalled-connection", with low
 * confidence: a job may do without them. Returns whether it added a hang. */
bool hk_cut_add(struct hk_findings *findings, const struct hk_report *report);

#endif
