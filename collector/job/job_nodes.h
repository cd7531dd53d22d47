/* job_nodes.h: the nodes of a job: on a root, one Hk__Node per leaf with a part in it.
 *
 * A node is in the job's message, so it is in the job's files. No state of its own; one thread.
 */
#ifndef HK_COLLECTOR_JOB_JOB_NODES_H
#define HK_COLLECTOR_JOB_JOB_NODES_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_job;

/* The node ID in JOB; NULL. */
Hk__Node *hk_job_node(const struct hk_job *job, const uint8_t *id);
/* The same, added if it is new, with its own facts. Returns 0 or -ENOMEM. */
int hk_job_node_join(struct hk_job *job, const Hk__Node *node, uint64_t opened_unix_ns,
		     Hk__Node **ret_node);

/* The node ID of JOB gave up so many RECORDS more. */
void hk_job_add_evicted(struct hk_job *job, const uint8_t *id, uint64_t records);
/* Sets the evicted records of each of JOB's nodes from the files of its processes. */
void hk_job_sum_evicted(struct hk_job *job);

#endif
