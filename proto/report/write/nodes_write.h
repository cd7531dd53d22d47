/* nodes_write.h: the nodes of a report as JSON and text. Pure functions of the report. */
#ifndef HK_REPORT_WRITE_NODES_WRITE_H
#define HK_REPORT_WRITE_NODES_WRITE_H

#include <jansson.h>
#include <stdio.h>

#include "report/model/report.h"

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

#endif
