/* retention.h: what --keep leaves of a job's records: the oldest chunks are given up, whichever
 * process they are of, the newest stay.
 *
 * Chunks of processes that have ended count as well. The newest chunk of a job is never given up
 * for the sake of bytes. Where a file system cannot give back parts of a file nothing is given up:
 * then new records are dropped instead, as long as the old ones fill what may be kept.
 */
#ifndef HK_COLLECTOR_SPOOL_RETENTION_H
#define HK_COLLECTOR_SPOOL_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

struct hk_collector;
struct hk_job;
struct hk_process;

/* Bytes that chunks of JOB take. */
uint64_t hk_retention_held(const struct hk_job *job);

/* Gives up what --keep does not leave of JOB, a bounded part of it at a time. True: there is more
 * to give up, now or soon. */
bool hk_retention_apply(struct hk_collector *collector, struct hk_job *job);

/* The root has the chunks of PROCESS up to NUMBER: they need not be here any more. */
void hk_retention_release(struct hk_collector *collector, struct hk_process *process,
			  uint64_t number);

/* Finds out what the file of a process without spool holds, nothing if there is none, and how much
 * was given up of it. -errno: it cannot be read now. */
int hk_retention_restore(struct hk_process *process);

/* Bytes that may be added to the chunks of JOB now. */
uint64_t hk_retention_room(const struct hk_collector *collector, const struct hk_job *job);

#endif
