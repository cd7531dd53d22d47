/* page.h: the page that /metrics shows, with every job that runs or ended less than five minutes
 * ago, and the collector itself.
 *
 * The number of series is bounded. Too many are summed, never cut: the calls of a job stand by node
 * or for the whole job instead of by rank, first the durations, then the others. Of the functions,
 * the page has those that take most time. Used by the collector's thread.
 */
#ifndef HK_COLLECTOR_METRICS_PAGE_H
#define HK_COLLECTOR_METRICS_PAGE_H

#include <stddef.h>
#include <stdint.h>

#include "collector/metrics/exposition.h"
#include "collector/model/job.h"

struct hk_collector;

#define HK_METRICS_SERIES_MAX 5000u		  /* of jobs, on a page */
#define HK_METRICS_KEEP_NS UINT64_C(300000000000) /* after a job has ended */

/* Makes the page of USER's jobs ("": all jobs) from the present values. The caller frees *RET_TEXT.
 * Returns 0 or -ENOMEM. */
int hk_metrics_render(struct hk_collector *collector, const char *user,
		      enum hk_exposition_format format, char **ret_text, size_t *ret_size);

/* An hk_job_observer: keeps the final values of a closed job for a while. */
int hk_metrics_observe(struct hk_collector *collector, struct hk_job *job, enum hk_job_event event);

/* Frees the values of jobs that ended too long before NOW_NS (monotonic). */
void hk_metrics_expire(struct hk_collector *collector, uint64_t now_ns);

#endif
