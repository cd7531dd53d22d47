/* finding_series.h: findings of running jobs as series for Prometheus. Main thread only. */
#ifndef HK_CLI_LIVE_FINDING_SERIES_H
#define HK_CLI_LIVE_FINDING_SERIES_H

#include <stdio.h>

#define HK_FINDING_JOBS 32u   /* running jobs whose findings are shown */
#define HK_FINDING_SERIES 16u /* of a job, the first findings */

/* Writes a gauge for each finding of the running jobs that USER ("": all users) may see: what it
 * costs in seconds, in the text format 0.0.4. A job that cannot be read now is left out. Returns 0
 * or -errno. */
int hk_finding_series_write(const char *user, FILE *output);

#endif
