/* job_page.h: writes report.html into a job's directory. Main thread only. */
#ifndef HK_CLI_RUN_JOB_PAGE_H
#define HK_CLI_RUN_JOB_PAGE_H

#include <stdbool.h>

#include "cli/job/job.h"
#include "report/model/report.h"

/* Writes the page of JOB, whose report is REPORT, into its directory. The time is bounded: of many
 * records a part is read. Returns false, without a message or a file, if the directory is on
 * another machine or belongs to another user, or if there is no room. */
bool hk_job_page_write(const struct hk_job *job, const struct hk_report *report);

#endif
