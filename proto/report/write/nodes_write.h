/* nodes_write.h: writes the nodes of a report as JSON and text. Pure functions of the report, any
 * thread. */
#ifndef HK_REPORT_WRITE_NODES_WRITE_H
#define HK_REPORT_WRITE_NODES_WRITE_H

#include <jansson.h>
#include <stdio.h>

#include "report/model/report.h"

/* Returns one node of the JSON contract, or NULL if out of memory. */
json_t *hk_report_node_json(const struct hk_report_node *node);

/* Writes a table of the nodes, or nothing if there are none. Returns 0 or a negative errno. */
int hk_report_nodes_write(const struct hk_report *report, FILE *output, bool colour);

/* Writes the error of the nodes' clocks as part of a line, after BEFORE. Writes nothing if the job
 * has one node. */
void hk_report_nodes_clocks(const struct hk_report *report, const char *before, FILE *output);

/* Writes a line for each sentence of hk_findings_add_nodes. */
void hk_report_nodes_warn(const struct hk_report *report, FILE *output);

#endif
