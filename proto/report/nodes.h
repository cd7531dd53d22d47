/* nodes.h: the machines of a job that bring their part of it to the collector that keeps it.
 *
 * One that is silent is cut off, or its collector has died: what its processes do meanwhile nobody
 * knows here. No state, any thread.
 */
#ifndef HK_REPORT_NODES_H
#define HK_REPORT_NODES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "report/report.h"
#include "report/verdict.h"

/* The answer to the last question, as processes of a node follow one another; zero it first. */
struct hk_report_node_memory {
	const Hk__Process *process;
	bool silent;
};

/* Whether nobody has heard lately from the node of JOB that PROCESS is on. */
bool hk_report_node_is_silent(const Hk__Job *job, const Hk__Process *process,
			      struct hk_report_node_memory *memory);

/* Fills the nodes of REPORT, whose processes are filled. -ENOMEM. */
int hk_report_nodes_fill(struct hk_report *report, const Hk__Snapshot *snapshot);

/* One node of the JSON contract; NULL: out of memory. */
json_t *hk_report_node_json(const struct hk_report_node *node);

/* A table of the nodes, nothing if there are none; 0 or a negative errno. */
int hk_report_nodes_write(const struct hk_report *report, FILE *output, bool colour);

/* What times of different nodes may be wrong by, as part of a line, after BEFORE; nothing if there
 * is one node only. */
void hk_report_nodes_clocks(const struct hk_report *report, const char *before, FILE *output);

/* A line for each node that is not there while it should be, or has given records up, and
 * one if collective calls contradict the clocks. */
void hk_report_nodes_warn(const struct hk_report *report, FILE *output);

/* The same as sentences. */
void hk_report_nodes_verdicts(const struct hk_report *report, struct hk_verdicts *verdicts);

#endif
