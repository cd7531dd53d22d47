/* nodes.h: the nodes of a job whose collectors send their part to the collector that keeps it. A
 * silent node is cut off, or its collector has died: the state of its processes is then unknown. No
 * state, any thread. */
#ifndef HK_REPORT_BUILD_NODES_H
#define HK_REPORT_BUILD_NODES_H

#include <stdbool.h>

#include "report/model/report.h"

/* The answer to the last question, as processes of a node follow one another; zero it first. */
struct hk_report_node_memory {
	const Hk__Process *process;
	bool silent;
};

/* Whether the node of JOB that PROCESS is on is silent: a root knows it, but it is neither complete
 * nor connected. MEMORY keeps the answer for further processes of the same node. */
bool hk_report_node_is_silent(const Hk__Job *job, const Hk__Process *process,
			      struct hk_report_node_memory *memory);

/* Fills the nodes of REPORT, whose processes are filled. -ENOMEM. */
int hk_report_nodes_fill(struct hk_report *report, const Hk__Snapshot *snapshot);

#endif
