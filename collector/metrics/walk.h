/* walk.h: the series that are exported, one after the other: those of every job that runs or ended
 * less than five minutes ago, and of the collector itself.
 *
 * The number of series is bounded. Too many are summed, never cut: the calls of a job stand by node
 * or for the whole job instead of by rank, first the durations, then the others. Of the functions,
 * those that take most time are visited. Used by the collector's thread.
 */
#ifndef HK_COLLECTOR_METRICS_WALK_H
#define HK_COLLECTOR_METRICS_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/metrics/aggregate.h"
#include "collector/model/job.h"

struct hk_collector;

#define HK_METRICS_SERIES_MAX 5000u		  /* of jobs, in one walk */
#define HK_METRICS_KEEP_NS UINT64_C(300000000000) /* after a job has ended */
#define HK_SERIES_LABELS 7u			  /* most labels of a series */

/* A series with its present value. All it points to is valid during the visit. */
struct hk_series {
	const struct hk_metric *metric;
	bool first;	   /* of its metric: those of one name follow each other */
	uint64_t start_ns; /* when a counter began at 0, since the Unix epoch */
	uint32_t labels;
	struct {
		const char *name, *value;
	} label[HK_SERIES_LABELS];
	char fixed[32];	       /* name of a label of the table */
	const uint64_t *value; /* one, or of a histogram: counts by bucket, then the sum */
};

typedef void (*hk_series_visit)(void *context, const struct hk_series *series);

/* Calls VISIT for each series of USER's jobs ("": all jobs), and of the collector, with the present
 * values. Returns 0 or -ENOMEM. */
int hk_metrics_walk(struct hk_collector *collector, const char *user, hk_series_visit visit,
		    void *context);

/* An hk_job_observer: keeps the final values of a closed job for a while. */
int hk_metrics_observe(struct hk_collector *collector, struct hk_job *job, enum hk_job_event event);

/* Frees the values of jobs that ended too long before NOW_NS (monotonic). */
void hk_metrics_expire(struct hk_collector *collector, uint64_t now_ns);

#endif
