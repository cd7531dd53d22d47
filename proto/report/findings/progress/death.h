/* death.h: names the rank that ended first by a signal, for want of memory or with an error, and
 * what it was doing. Ranks that a launcher ends afterwards are counted only. Locked by the caller.
 */
#ifndef HK_REPORT_FINDINGS_PROGRESS_DEATH_H
#define HK_REPORT_FINDINGS_PROGRESS_DEATH_H

#include "report/finding/finding.h"

/* Adds at most one finding: of kind "death", or "early-exit" if ranks ended with status 0 and all
 * others failed soon after. */
void hk_death_add(struct hk_findings *findings, const struct hk_report *report);

#endif
