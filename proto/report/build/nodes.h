/* nodes.h: the nodes of a job whose collectors send their part to the root. A silent node has lost
 * its connection, or its collector has died: the state of its processes is then unknown. No state,
 * any thread. */
#ifndef HK_REPORT_BUILD_NODES_H
#define HK_REPORT_BUILD_NODES_H

#include <stdbool.h>

#include "report/model/report.h"

/* Caches the answer for the last process, as processes of a node mostly follow each other. Zero it
 * first. */
struct hk_report_node_memory {
	const Hk__Process *process;
	bool silent;
};

/* Whether the node of PROCESS is silent: it has reported to a root, and is neither complete nor
 * connected. MEMORY keeps the answer for further processes of the same node. */
bool hk_report_node_is_silent(const Hk__Job *job, const Hk__Process *process,
			      struct hk_report_node_memory *memory);

/* Fills report->nodes from SNAPSHOT. Returns 0 or -ENOMEM. */
int hk_report_nodes_fill(struct hk_report *report, const Hk__Snapshot *snapshot);

#endif
