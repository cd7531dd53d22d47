/* mpi_findings.h: jobs whose time goes to starting MPI, or to many small messages. Locked by the
 * caller. */
#ifndef HK_REPORT_FINDINGS_MPI_FINDINGS_H
#define HK_REPORT_FINDINGS_MPI_FINDINGS_H

#include "report/build/group.h"
#include "report/finding/finding.h"

/* GROUPS are those of REPORT by function. Adds findings of kinds "start-up" and "small-messages".
 */
void hk_findings_add_mpi(const struct hk_report *report, const struct hk_groups *groups,
			 struct hk_findings *findings);

#endif
