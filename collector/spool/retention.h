/* retention.h: applies --keep to a job's records: evicts the oldest chunks of all processes, and
 * keeps the newest.
 *
 * Chunks of processes that have ended count as well. A limit of bytes never evicts the newest chunk
 * of a job. If a file system cannot free parts of a file, no chunk is evicted, and new records are
 * dropped while the old ones fill the limit.
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

/* Evicts the chunks of JOB beyond --keep, a bounded number at a time. Returns true if there is more
 * to evict, now or soon. */
bool hk_retention_apply(struct hk_collector *collector, struct hk_job *job);

/* Notes that the root has the chunks of PROCESS up to NUMBER: this node may evict them. */
void hk_retention_release(struct hk_collector *collector, struct hk_process *process,
			  uint64_t number);

/* Counts the bytes and evicted records in the file of a process without spool, 0 if there is no
 * file. Returns 0, or -errno if it cannot be read now. */
int hk_retention_restore(struct hk_process *process);

/* Returns the time of TICKS of PROCESS, ns since the Unix epoch on the job's clock. */
uint64_t hk_retention_unix_ns(const struct hk_process *process, uint64_t ticks);

/* Bytes that may be added to the chunks of JOB now. */
uint64_t hk_retention_room(const struct hk_collector *collector, const struct hk_job *job);

#endif
