/* job_page.h: report.html among a job's own files. Main thread only. */
#ifndef HK_CLI_RUN_JOB_PAGE_H
#define HK_CLI_RUN_JOB_PAGE_H

#include <stdbool.h>

#include "cli/job/job.h"
#include "report/model/report.h"

/* Writes the page of JOB, of which REPORT was made, into its directory, in a bounded time: of many
 * records some are read. False where it cannot be there: the files are on another machine, or
 * another user's, or there is no room; nothing is said then, and nothing is left behind. */
bool hk_job_page_write(const struct hk_job *job, const struct hk_report *report);

#endif
