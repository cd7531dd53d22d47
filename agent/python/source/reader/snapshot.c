#include "snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/nodes.h"
#include "wire/statistics.h"

/* Returns whether a node's part lacks something that its node is not about to write. */
static bool is_incomplete(const struct hk_node_part *part)
{
	bool about_to_begin = part->error == -ENOENT && part->fresh;

	return !about_to_begin && (part->error < 0 || (part->open && !part->fresh));
}

static int load_nodes(struct hk_job_snapshot *job)
{
	struct hk_nodes nodes;
	int rc = hk_nodes_find(job->directory, &nodes);

	if (rc < 0) {
		return rc;
	}
	rc = hk_nodes_load(job->directory, &nodes, &job->snapshot);
	for (size_t i = 0; rc == 0 && i < nodes.count; i++) {
		job->damaged |= is_incomplete(&nodes.parts[i]);
	}
	hk_nodes_fini(&nodes);
	return rc;
}

static int load(struct hk_job_snapshot *job)
{
	int rc = hk_statistics_load(job->directory, &job->snapshot);

	if (rc == -ENOENT) {
		return load_nodes(job);
	}
	if (rc == -EBADMSG && job->snapshot) {
		job->damaged = true;
		return 0;
	}
	return rc;
}

int hk_job_snapshot_load(const char *directory, struct hk_job_snapshot **ret_job)
{
	struct hk_job_snapshot *job = calloc(1, sizeof(*job));

	if (!job) {
		return -ENOMEM;
	}
	job->refs = 1;
	job->directory = strdup(directory);
	int rc = job->directory ? load(job) : -ENOMEM;
	if (rc < 0) {
		hk_job_snapshot_unref(job);
		return rc;
	}
	*ret_job = job;
	return 0;
}

struct hk_job_snapshot *hk_job_snapshot_ref(struct hk_job_snapshot *job)
{
	__atomic_add_fetch(&job->refs, 1, __ATOMIC_RELAXED);
	return job;
}

void hk_job_snapshot_unref(struct hk_job_snapshot *job)
{
	if (!job || __atomic_sub_fetch(&job->refs, 1, __ATOMIC_ACQ_REL)) {
		return;
	}
	if (job->snapshot) {
		hk__snapshot__free_unpacked(job->snapshot, NULL);
	}
	free(job->directory);
	free(job);
}
