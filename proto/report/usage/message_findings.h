/* message_findings.h: jobs that pass many small messages by MPI. Pure functions of the report, any
 * thread. */
#ifndef HK_REPORT_USAGE_MESSAGE_FINDINGS_H
#define HK_REPORT_USAGE_MESSAGE_FINDINGS_H

#include <stdbool.h>

#include "report/build/group.h"
#include "report/finding/finding.h"

/* Returns whether FUNCTION of MPI, by its C or Fortran name, sends or receives messages between two
 * ranks, or waits until some have passed. */
bool hk_is_message_call(const char *function);

/* GROUPS are those of REPORT by function. Adds a finding of kind "small-messages". Its cost is the
 * time of sends, and of receives and waits as far as they complete small messages. */
void hk_findings_add_messages(const struct hk_report *report, const struct hk_groups *groups,
			      struct hk_findings *findings);

#endif
