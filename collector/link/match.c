#include "collector/link/match.h"

#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "collector/job/job_nodes.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_open.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/process/ancestry.h"

#define LATE_NS UINT64_C(60000000000)

/* Returns the job that the node has reported before under this identity, or NULL. */
static struct hk_job *known_job(const struct hk_collector *collector, const char *user,
				const Hk__Node *node, const Hk__Job *part)
{
	struct hk_job *job;
	DL_FOREACH (collector->jobs, job) {
		const Hk__Node *its =
		    strcmp(job->state->key, part->key) == 0 && strcmp(job->state->user, user) == 0
			? hk_job_node(job, node->id.data)
			: NULL;
		if (its && its->opened_unix_ns == part->opened_unix_ns) {
			return job;
		}
	}
	return NULL;
}

/* Returns the open job that has a process of FROM, or NULL. Its node opened the job again after its
 * directory was removed and its collector killed. */
static struct hk_job *begun_again(const struct hk_collector *collector, const char *user,
				  const Hk__Node *node, const Hk__LeafJob *from)
{
	for (size_t i = 0; i < from->n_processes; i++) {
		const Hk__Process *state = from->processes[i];
		const struct hk_process *process =
		    state->uid.len == HK_UID_BYTES ? hk_ancestry_by_uid(collector, state->uid.data)
						   : NULL;
		if (!process || !process->remote ||
		    strcmp(process->job->state->key, from->job->key) != 0 ||
		    strcmp(process->job->state->user, user) != 0) {
			continue;
		}
		Hk__Node *its = hk_job_node(process->job, node->id.data);
		if (its) {
			its->opened_unix_ns = from->job->opened_unix_ns;
			process->job->changed = true;
			return process->job;
		}
	}
	return NULL;
}

struct hk_job *hk_match_job(struct hk_collector *collector, const char *user, const Hk__Node *node,
			    const Hk__LeafJob *from)
{
	const Hk__Job *part = from->job;
	struct hk_job *job = known_job(collector, user, node, part);
	/* The job may have been closed and dropped by an earlier collector. */
	if (!job && *from->id && hk_job_recall(collector, from->id) == 0) {
		job = known_job(collector, user, node, part);
	}
	if (job) {
		return job;
	}
	job = begun_again(collector, user, node, from);
	if (job) {
		return job;
	}
	job = hk_job_find_of(collector, part->key, user);
	/* A job that already has a part of this node is an earlier one of the same name. */
	if (!job || hk_job_node(job, node->id.data)) {
		return NULL;
	}
	bool recent = !job->state->closed || hk_clock_monotonic_ns() - job->closed_ns < LATE_NS;
	return recent ? job : NULL;
}
