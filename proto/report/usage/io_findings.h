/* io_findings.h: jobs whose ranks read, write and open files for much of their time. Pure functions
 * of the report, any thread. */
#ifndef HK_REPORT_USAGE_IO_FINDINGS_H
#define HK_REPORT_USAGE_IO_FINDINGS_H

#include "report/build/group.h"
#include "report/finding/finding.h"

/* GROUPS are those of REPORT by function. Adds a finding of kind "slow-io" if half of the ranks or
 * more are in I/O for long. One rank that differs from the others is a late rank instead. */
void hk_findings_add_io(const struct hk_report *report, const struct hk_groups *groups,
			struct hk_findings *findings);

#endif
