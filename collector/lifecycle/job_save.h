/* job_save.h: writes an open job's statistics and job.json. One thread. */
#ifndef HK_COLLECTOR_LIFECYCLE_JOB_SAVE_H
#define HK_COLLECTOR_LIFECYCLE_JOB_SAVE_H

struct hk_collector;
struct hk_job;

/* Writes the processes that changed, and the job, to the statistics file; job.json if it changed.
 * The first error is returned, the rest is tried all the same; what failed is tried again next
 * time. */
int hk_job_save(struct hk_collector *collector, struct hk_job *job);
/* The same, but of other nodes' processes only those that were not saved for some seconds: to be
 * called every second or so. */
int hk_job_save_due(struct hk_collector *collector, struct hk_job *job);

#endif
