/* job_save.h: writes an open job's statistics and job.json. One thread. */
#ifndef HK_COLLECTOR_LIFECYCLE_JOB_SAVE_H
#define HK_COLLECTOR_LIFECYCLE_JOB_SAVE_H

struct hk_collector;
struct hk_job;

/* Writes the changed processes and the job to the statistics file, and job.json if it changed.
 * Continues after an error, and retries failed parts the next time. Returns 0 or the first -errno.
 */
int hk_job_save(struct hk_collector *collector, struct hk_job *job);
/* The same, but other nodes' processes only if they were not saved for some seconds. Called about
 * once a second. */
int hk_job_save_due(struct hk_collector *collector, struct hk_job *job);

#endif
