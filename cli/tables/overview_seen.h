/* overview_seen.h: fills the bins of an overview with the sums that a job's collector kept while
 * the job ran. One thread. */
#ifndef HK_CLI_TABLES_OVERVIEW_SEEN_H
#define HK_CLI_TABLES_OVERVIEW_SEEN_H

#include "cli/tables/overview_bins.h"
#include "report/model/report.h"

/* Fills the bins of RANK, of OVERVIEW, from the activity in REPORT and sets its `seen`; leaves it
 * unchanged if there is no activity. Returns 0 or -ENOMEM. */
int hk_overview_see(struct hk_overview *overview, const struct hk_report *report,
		    struct hk_overview_rank *rank);

#endif
