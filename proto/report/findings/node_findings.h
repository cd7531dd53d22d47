/* node_findings.h: what is wrong with the nodes of a job, in sentences. */
#ifndef HK_REPORT_FINDINGS_NODE_FINDINGS_H
#define HK_REPORT_FINDINGS_NODE_FINDINGS_H

#include "report/findings/finding.h"

/* Adds a sentence for each node that is not there while it should be, or has given records up, and
 * one if collective calls contradict the clocks. */
void hk_findings_add_nodes(const struct hk_report *report, struct hk_findings *findings);

#endif
