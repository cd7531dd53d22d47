/* node_findings.h: what is wrong with the nodes of a job, in sentences. */
#ifndef HK_REPORT_FINDINGS_NODE_FINDINGS_H
#define HK_REPORT_FINDINGS_NODE_FINDINGS_H

#include "report/findings/finding.h"

/* Adds a sentence for each node that is missing while it should be connected, or has evicted
 * records, and one if collective calls contradict the clocks. */
void hk_findings_add_nodes(const struct hk_report *report, struct hk_findings *findings);

#endif
