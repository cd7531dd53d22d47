#include "collector/lifecycle/job_open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/job/job_nodes.h"
#include "collector/job/jobdir.h"
#include "collector/job/nodedir.h"
#include "collector/job/root_clock.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_room.h"
#include "collector/lifecycle/job_save.h"
#include "collector/lifecycle/process_list.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "wire/statistics.h"

static bool given(const char *text)
{
	return text && *text;
}

/* Returns whether an open job of COLLECTOR is stored in PATH. */
static bool is_open_in(const void *context, const char *path)
{
	const struct hk_collector *collector = context;
	const struct hk_job *job;
	char real[PATH_MAX];
	if (!realpath(path, real)) {
		return false;
	}
	DL_FOREACH (collector->jobs, job) {
		if (!job->state->closed && strcmp(job->state->directory, real) == 0) {
			return true;
		}
	}
	return false;
}

/* Makes this node's directory of a job. EXACT is the directory for the job of all nodes, or the
 * directory that an earlier collector of this node made in it. */
static int make_node_directory(const struct hk_collector *collector, const char *exact,
			       char id[HK_JOBDIR_ID_BYTES], char made[PATH_MAX])
{
	char parent[PATH_MAX], name[HK_JOBDIR_ID_BYTES];
	struct hk_nodedir_mark mark;
	const struct hk_nodedir_open open = {is_open_in, collector};
	const char *base = given(exact) ? strrchr(exact, '/') : NULL;
	hk_nodedir_mark(&mark, id, collector->host, collector->run_directory, collector->dirfd[0]);
	if (!base) {
		return hk_nodedir_create(collector->store, id, &mark, &open, made);
	}
	if (strlen(exact) >= sizeof(parent) || strlen(base + 1) >= sizeof(name) - 16) {
		return -ENAMETOOLONG;
	}
	if (hk_nodedir_is(exact)) {
		memcpy(made, exact, strlen(exact) + 1);
		return 0;
	}
	memcpy(name, base + 1, strlen(base));
	memcpy(parent, exact, (size_t)(base - exact));
	parent[base - exact] = '\0';
	return hk_nodedir_create(*parent ? parent : "/", name, &mark, &open, made);
}

static int make_directory(const struct hk_collector *collector, const char *exact,
			  char id[HK_JOBDIR_ID_BYTES], char path[PATH_MAX])
{
	char made[PATH_MAX];
	int r;
	if (collector->options.per_node) {
		r = make_node_directory(collector, exact, id, made);
	} else if (given(exact)) {
		r = hk_jobdir_make(exact);
		if (strlen(exact) >= sizeof(made)) {
			return -ENAMETOOLONG;
		}
		memcpy(made, exact, strlen(exact) + 1);
	} else {
		r = hk_jobdir_create(collector->store, id, made);
	}
	return r < 0 ? r : realpath(made, path) ? 0 : -errno;
}

/* Sets the directory of the whole job: the parent of PATH, which is a node's directory. */
static int set_whole(Hk__Job *state, const char *path)
{
	char whole[PATH_MAX];
	snprintf(whole, sizeof(whole), "%s", path);
	char *slash = strrchr(whole, '/');
	*(slash ? slash : whole) = '\0';
	return hk_field_set_string(&state->whole, whole);
}

static int describe(const struct hk_collector *collector, struct hk_job *job,
		    const struct hk_job_request *request, const char *id, const char *path)
{
	Hk__Job *state = job->state;
	state->world_size = 1;
	if (hk_root_clock_set(collector, state) < 0 || hk_field_set_string(&state->id, id) < 0 ||
	    hk_field_set_string(&state->key, request->key) < 0 ||
	    hk_field_set_string(&state->name, given(request->name) ? request->name : request->key) <
		0 ||
	    hk_field_set_string(&state->command, given(request->command) ? request->command : "") <
		0 ||
	    hk_field_set_string(&state->user, given(request->user) ? request->user : "") < 0 ||
	    hk_field_set_string(&state->directory, path) < 0 ||
	    hk_field_set_string(&state->exit, "running") < 0 ||
	    (hk_nodedir_is(path) && set_whole(state, path) < 0)) {
		return -ENOMEM;
	}
	state->start_unix_ns = state->opened_unix_ns = state->root->realtime_ns;
	state->announced = request->announced;
	state->command_pid = request->pid;
	job->changed = true;
	return 0;
}

/* Accounts for the loss of a removed file. On a leaf, files are removed once the root has them.
 * Data of other nodes that has not arrived yet is not lost. */
static void account(const struct hk_job *job, struct hk_process *process)
{
	if (!process->remote && !*job->state->upstream) {
		hk_process_account(process);
	}
}

/* Holds the records that a trigger of JOB has not copied, before its first pass evicts any. */
static void hold(struct hk_job *job)
{
	const Hk__Triggers *triggers = job->state->triggers;
	for (size_t i = 0; triggers && i < triggers->n_fired; i++) {
		if (triggers->fired[i]->open) {
			job->held_from_ns = triggers->fired[i]->from_unix_ns;
		}
	}
	job->held_ns = triggers && triggers->plan ? triggers->plan->keep_ns : 0;
}

/* If PATH holds the job of a collector that died, JOB continues it. */
static int load(struct hk_collector *collector, struct hk_job *job, const char *path)
{
	Hk__Snapshot *snapshot = NULL;
	int r = hk_statistics_load(path, &snapshot);
	if (!snapshot) {
		return r == -ENOENT ? 0 : r;
	}
	bool old = hk_root_clock_is_old(collector, snapshot->job);
	r = old ? hk_root_clock_carry_over(collector, snapshot) : 0;
	job->changed |= old;
	if (r == 0 && *snapshot->job->key) {
		hk__job__free_unpacked(job->state, NULL);
		job->state = snapshot->job;
		snapshot->job = NULL;
		job->state->closed = false;
		hold(job);
	}
	for (size_t i = 0; i < snapshot->n_processes && r == 0; i++) {
		r = hk_process_restore(collector, job, snapshot->processes[i]);
		if (r == 0) {
			snapshot->processes[i] = NULL;
			job->processes->prev->changed |= old;
			account(job, job->processes->prev);
		}
	}
	hk_job_sum_evicted(job);
	size_t kept = 0;
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		if (snapshot->processes[i]) {
			snapshot->processes[kept++] = snapshot->processes[i];
		}
	}
	snapshot->n_processes = kept;
	hk__snapshot__free_unpacked(snapshot, NULL);
	return r;
}

int hk_job_open(struct hk_collector *collector, const struct hk_job_request *request,
		struct hk_job **ret_job)
{
	char id[HK_JOBDIR_ID_BYTES], path[PATH_MAX];
	struct hk_job *job = NULL;
	hk_jobdir_id(request->key, id);
	int r = make_directory(collector, request->directory, id, path);
	r = r < 0 ? r : hk_job_new(&job);
	r = r < 0 ? r : describe(collector, job, request, id, path);
	if (r == 0 && collector->options.upstream) {
		r = hk_field_set_string(&job->state->upstream, collector->options.upstream);
	}
	if (r == 0 && (given(request->directory) || collector->options.per_node)) {
		r = load(collector, job, path);
	}
	r = r < 0 ? r : hk_statistics_open(path, &job->statistics);
	if (r < 0) {
		hk_job_free(collector, job);
		return r;
	}
	job->by_realtime = collector->options.from != NULL;
	DL_APPEND(collector->jobs, job);
	hk_job_hold_reserve(job);
	hk_job_link(collector, job);
	hk_job_save(collector, job);
	hk_info("job opened id=%s directory=%s", job->state->id, path);
	*ret_job = job;
	return 0;
}

static int restore(void *context, const char *path)
{
	struct hk_collector *collector = context;
	struct hk_job *job;
	DL_FOREACH (collector->jobs, job) {
		if (strcmp(job->state->directory, path) == 0) {
			return 0;
		}
	}
	int r = hk_job_new(&job);
	r = r < 0 ? r : load(collector, job, path);
	if (r == 0 && !*job->state->key) {
		r = -EBADMSG;
	}
	r = r < 0 ? r : hk_statistics_open(path, &job->statistics);
	if (r < 0) {
		hk_job_free(collector, job);
		return r;
	}
	job->by_realtime = collector->options.from != NULL;
	DL_APPEND(collector->jobs, job);
	hk_job_hold_reserve(job);
	return 0;
}

void hk_job_restore_all(struct hk_collector *collector)
{
	hk_jobdir_take_up(collector->dirfd[0], HK_RUNDIR_OPEN, restore, collector);
}

int hk_job_recall(struct hk_collector *collector, const char *id)
{
	char path[PATH_MAX], clean[HK_JOBDIR_ID_BYTES];
	struct hk_job *job;
	hk_jobdir_id(id, clean);
	int length = snprintf(path, sizeof(path), "%s/%s", collector->store, id);
	if (strcmp(clean, id) != 0 || length < 0 || length >= PATH_MAX) {
		return -EINVAL;
	}
	return hk_job_recall_from(collector, path, &job);
}

int hk_job_recall_from(struct hk_collector *collector, const char *path, struct hk_job **ret_job)
{
	Hk__Snapshot *snapshot = NULL;
	struct hk_job *job;
	DL_FOREACH (collector->jobs, job) {
		if (strcmp(job->state->directory, path) == 0) {
			*ret_job = job;
			return -EEXIST;
		}
	}
	int r = hk_statistics_load(path, &snapshot);
	if (!snapshot) {
		return r;
	}
	r = *snapshot->job->key ? hk_job_new(&job) : -ENOENT;
	if (r == 0) {
		hk__job__free_unpacked(job->state, NULL);
		job->state = snapshot->job;
		job->state->closed = true;
		snapshot->job = NULL;
		/* The newest job is the last one of the list. */
		DL_PREPEND(collector->jobs, job);
		*ret_job = job;
	}
	hk__snapshot__free_unpacked(snapshot, NULL);
	return r;
}

int hk_job_reopen(struct hk_collector *collector, struct hk_job *job)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s", job->state->directory);
	int r = load(collector, job, path);
	r = r < 0 ? r : hk_statistics_open(path, &job->statistics);
	if (r < 0) {
		hk_job_forget_processes(collector, job);
		job->state->closed = true;
		return r;
	}
	hk_job_announce(collector, job, HK_JOB_FORGOTTEN);
	job->by_realtime = collector->options.from != NULL;
	/* The job's command has ended or never started, so the job closes again when no process is
	 * alive. */
	job->close_requested = job->state->announced;
	job->state->closed = false;
	job->changed = true;
	hk_job_hold_reserve(job);
	job->alive_ns = hk_clock_monotonic_ns();
	hk_job_link(collector, job);
	hk_info("job reopened id=%s", job->state->id);
	return 0;
}

int hk_job_resume(struct hk_collector *collector, const struct hk_job_request *request,
		  struct hk_job **job)
{
	char path[PATH_MAX];
	int r = hk_job_reopen(collector, *job);
	if (r != -ENOENT) {
		return r;
	}
	/* The job's directory was removed, so further records go to a new one. */
	snprintf(path, sizeof(path), "%s", (*job)->state->directory);
	hk_job_drop(collector, path);
	return hk_job_open(collector, request, job);
}
