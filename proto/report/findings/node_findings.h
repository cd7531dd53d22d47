/* node_findings.h: sentences about problems with the nodes of a job. Locked by the caller. */
#ifndef HK_REPORT_FINDINGS_NODE_FINDINGS_H
#define HK_REPORT_FINDINGS_NODE_FINDINGS_H

#include "report/finding/finding.h"

/* Adds sentences for the nodes that are silent or evicted records, until there are four. Adds one
 * sentence if collective calls contradict the clocks. */
void hk_findings_add_nodes(const struct hk_report *report, struct hk_findings *findings);

#endif
