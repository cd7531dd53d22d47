/* leaf.h: brings the records and states of this collector's jobs to the root.
 *
 * About once a second, and at once when a job ends, the leaf reports to the root what has changed.
 * Chunks follow as they are written, in the order of their numbers, at most HK_UPLINK_CHUNKS under
 * way. The leaf puts in force what the root answers for a job. A root that cannot be reached
 * changes nothing for the traced processes: the job directories grow on, and the leaf reports when
 * the root is back. The collector's one thread does everything and never waits.
 */
#ifndef HK_COLLECTOR_LINK_LEAF_H
#define HK_COLLECTOR_LINK_LEAF_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/model/job.h"
#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_leaf;

/* Makes the leaf for options.upstream, with what an earlier collector left unsent. Returns 0, or
 * -errno after a line in the log. */
int hk_leaf_open(struct hk_collector *collector, struct hk_leaf **ret_leaf);
/* Writes this node's id and its unsent jobs into the run directory, for the next collector. */
void hk_leaf_link_all(const struct hk_leaf *leaf, const struct hk_collector *collector);

/* Frees; accepts NULL, returns NULL. Unsent data stays for the next collector. */
struct hk_leaf *hk_leaf_free(struct hk_collector *collector, struct hk_leaf *leaf);

/* The descriptor that is readable when hk_leaf_run has a task, and the latest time of its next task
 * (monotonic). */
int hk_leaf_fd(const struct hk_leaf *leaf);
uint64_t hk_leaf_due(const struct hk_leaf *leaf);

/* Does what can be done now. */
void hk_leaf_run(struct hk_collector *collector, uint64_t now_ns);

/* An hk_job_observer: when JOB closes, the outbox keeps what is still to be sent, without its
 * processes. */
int hk_leaf_observe(struct hk_collector *collector, struct hk_job *job, enum hk_job_event event);

/* Sets *RET_STATUS to the leaf's state. The strings belong to the leaf. */
void hk_leaf_status(const struct hk_leaf *leaf, Hk__Uplink *ret_status);

/* Whether the root has everything. */
bool hk_leaf_done(const struct hk_leaf *leaf);

#endif
