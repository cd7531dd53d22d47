#include "collector/lifecycle/job.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/job/disk_reserve.h"
#include "collector/job/job_nodes.h"
#include "collector/job/jobdir.h"
#include "collector/job/nodedir.h"
#include "collector/job/root_clock.h"
#include "collector/lifecycle/process_list.h"
#include "collector/lifecycle/retention.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/spool/spool.h"
#include "wire/statistics.h"

#define CLOSE_AGAIN_NS UINT64_C(1000000000)

static bool given(const char *text)
{
	return text && *text;
}

static void forget_processes(struct hk_collector *collector, const struct hk_job *job)
{
	while (job->processes) {
		hk_process_forget(collector, job->processes);
	}
}

void hk_job_observe(struct hk_collector *collector, hk_job_observer observer)
{
	size_t count = 0;
	while (collector->observers[count]) {
		count++;
	}
	collector->observers[count] = observer;
}

/* Calls all observers of COLLECTOR. 0, or the first -errno. */
static int announce(struct hk_collector *collector, struct hk_job *job, enum hk_job_event event)
{
	int result = 0;
	for (size_t i = 0; i < HK_COLLECTOR_OBSERVERS && collector->observers[i]; i++) {
		int r = collector->observers[i](collector, job, event);
		result = result < 0 ? result : r;
	}
	return result;
}

static struct hk_job *job_free(struct hk_collector *collector, struct hk_job *job)
{
	if (!job) {
		return NULL;
	}
	forget_processes(collector, job);
	announce(collector, job, HK_JOB_FORGOTTEN);
	if (job->state) {
		hk__job__free_unpacked(job->state, NULL);
	}
	hk_statistics_free(job->statistics);
	free(job);
	return NULL;
}

void hk_job_free_all(struct hk_collector *collector)
{
	struct hk_job *job, *next;
	DL_FOREACH_SAFE(collector->jobs, job, next)
	{
		DL_DELETE(collector->jobs, job);
		job_free(collector, job);
	}
}

/* ---- opening ---- */

static int job_new(struct hk_job **ret_job)
{
	struct hk_job *job = calloc(1, sizeof(*job));
	if (!job) {
		return -ENOMEM;
	}
	job->state = malloc(sizeof(*job->state));
	if (!job->state) {
		free(job);
		return -ENOMEM;
	}
	hk__job__init(job->state);
	job->opened_ns = job->alive_ns = hk_clock_monotonic_ns();
	*ret_job = job;
	return 0;
}

/* Whether a job of COLLECTOR lies in PATH and is open. */
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

/* EXACT is where the whole shall be, or an earlier collector's directory of this node in it. */
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

/* The directory that PATH, a node's, is in. */
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

/* Its file may have been removed meanwhile. But a leaf's files go once its root has them, and what
 * other nodes have yet to bring is not lost. */
static void account(const struct hk_job *job, struct hk_process *process)
{
	if (!process->remote && !*job->state->upstream) {
		hk_process_account(process);
	}
}

/* A directory that was named exactly may hold the job of a collector that died: then that job goes
 * on. */
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
	}
	for (size_t i = 0; i < snapshot->n_processes && r == 0; i++) {
		r = hk_process_restore(collector, job, snapshot->processes[i]);
		if (r == 0) {
			snapshot->processes[i] = NULL;
			job->processes->prev->changed |= old;
			account(job, job->processes->prev);
		}
	}
	hk_job_sum_shed(job);
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
	r = r < 0 ? r : job_new(&job);
	r = r < 0 ? r : describe(collector, job, request, id, path);
	if (r == 0 && collector->options.upstream) {
		r = hk_field_set_string(&job->state->upstream, collector->options.upstream);
	}
	if (r == 0 && (given(request->directory) || collector->options.per_node)) {
		r = load(collector, job, path);
	}
	r = r < 0 ? r : hk_statistics_open(path, &job->statistics);
	if (r < 0) {
		job_free(collector, job);
		return r;
	}
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
	int r = job_new(&job);
	r = r < 0 ? r : load(collector, job, path);
	if (r == 0 && !*job->state->key) {
		r = -EBADMSG;
	}
	r = r < 0 ? r : hk_statistics_open(path, &job->statistics);
	if (r < 0) {
		job_free(collector, job);
		return r;
	}
	DL_APPEND(collector->jobs, job);
	hk_job_hold_reserve(job);
	return 0;
}

void hk_job_restore_all(struct hk_collector *collector)
{
	hk_jobdir_take_up(collector->dirfd[0], HK_RUNDIR_OPEN, restore, collector);
}

void hk_job_link(const struct hk_collector *collector, struct hk_job *job)
{
	int r = hk_jobdir_link(collector->dirfd[0], HK_RUNDIR_OPEN, job->state->id,
			       job->state->directory);
	if (r < 0 && r != job->link_error) {
		hk_warning("job not noted in the run directory yet id=%s error=%s", job->state->id,
			   strerror(-r));
	}
	job->link_error = r;
}

void hk_job_link_all(const struct hk_collector *collector)
{
	struct hk_job *job;
	DL_FOREACH (collector->jobs, job) {
		if (!job->state->closed) {
			hk_job_link(collector, job);
		}
	}
}

/* ---- finding ---- */

bool hk_job_is_for(const struct hk_job *job, const char *user)
{
	return !*user || strcmp(job->state->user, user) == 0;
}

struct hk_job *hk_job_find_of(const struct hk_collector *collector, const char *key,
			      const char *user)
{
	struct hk_job *job, *found = NULL;
	DL_FOREACH (collector->jobs, job) {
		if (strcmp(job->state->key, key) == 0 && strcmp(job->state->user, user) == 0) {
			found = job;
		}
	}
	return found;
}

struct hk_job *hk_job_find(const struct hk_collector *collector, const char *key)
{
	return hk_job_find_of(collector, key, "");
}

int hk_job_select(const struct hk_collector *collector, const char *text, const char *user,
		  struct hk_job **ret_job)
{
	struct hk_job *job, *exact = NULL, *begins = NULL;
	size_t length = strlen(text), matches = 0;
	DL_FOREACH (collector->jobs, job) {
		if (!hk_job_is_for(job, user)) {
			continue;
		}
		if (strcmp(job->state->id, text) == 0 || strcmp(job->state->key, text) == 0) {
			exact = job;
		}
		if (strncmp(job->state->id, text, length) == 0) {
			begins = job;
			matches++;
		}
	}
	if (!exact && length > 0 && matches > 1) {
		return -ENOTUNIQ;
	}
	if (!exact && !begins) {
		return -ENOENT;
	}
	*ret_job = exact ? exact : begins;
	return 0;
}

/* ---- closing ---- */

void hk_job_drop(struct hk_collector *collector, const char *directory)
{
	struct hk_job *job, *next;
	DL_FOREACH_SAFE(collector->jobs, job, next)
	{
		if (job->state->closed && strcmp(job->state->directory, directory) == 0) {
			DL_DELETE(collector->jobs, job);
			job_free(collector, job);
		}
	}
}

/* Old closed jobs are forgotten; their directories tell everything. */
static void forget_oldest(struct hk_collector *collector)
{
	struct hk_job *job, *oldest = NULL;
	uint32_t closed = 0;
	DL_FOREACH (collector->jobs, job) {
		if (job->state->closed) {
			oldest = oldest ? oldest : job;
			closed++;
		}
	}
	if (closed > HK_COLLECTOR_JOBS_MAX) {
		DL_DELETE(collector->jobs, oldest);
		job_free(collector, oldest);
	}
}

static int write_report(struct hk_job *job)
{
	Hk__Snapshot snapshot;
	int r = hk_job_snapshot(job, &snapshot);
	if (r == 0) {
		snapshot.now_unix_ns = job->state->start_unix_ns + job->state->duration_ns;
		r = hk_jobdir_report(&snapshot);
		free(snapshot.processes);
	}
	if (r == 0 && *job->state->whole) {
		r = hk_nodedir_report(job->state->directory);
	}
	return r;
}

/* Processes whose end was not seen: those of nodes that are gone, and those without a segment,
 * which an earlier collector read until it ended itself. Nothing more comes from other nodes. */
static void give_up_processes(struct hk_job *job)
{
	struct hk_process *process;
	DL_FOREACH (job->processes, process) {
		if (process->remote && !process->gone) {
			hk_process_vanish(process, "");
		} else if (!process->remote &&
			   process->state->exit_kind == HK__EXIT_KIND__EXIT_RUNNING) {
			hk_process_vanish(process,
					  "its segment was removed with the run directory, and "
					  "what it called later is unknown");
		}
		if (process->remote) {
			hk_process_account(process);
		}
	}
}

/* Everything that a closed job's directory holds; -errno: some of it is not there yet. */
static int write_end(struct hk_collector *collector, struct hk_job *job)
{
	if (!job->statistics) {
		return -EBADF;
	}
	hk_job_sum(job);
	job->state->closed = true;
	job->changed = true;
	hk_reserve_give(&job->reserve_held, job->state->directory);
	int r = hk_job_save(collector, job);
	r = r < 0 ? r : write_report(job);
	if (r < 0) {
		job->state->closed = false;
		job->changed = true;
	}
	return r;
}

/* Why a private collector's job has no place left, which the collector must not outlive; NULL: it
 * has. Any other collector waits for its store to come back. */
static const char *no_place(const struct hk_collector *collector, const struct hk_job *job,
			    int error)
{
	if (!collector->options.exit_with_job) {
		return NULL;
	}
	if (error == -EFBIG) {
		return "ulimit -f allows no larger file";
	}
	return error == -ENOENT && access(job->state->directory, F_OK) < 0 && errno == ENOENT
		   ? "its store was removed"
		   : NULL;
}

bool hk_job_close_is_due(const struct hk_job *job, uint64_t now_ns)
{
	return job->close_error == 0 || now_ns - job->close_tried_ns >= CLOSE_AGAIN_NS;
}

int hk_job_close(struct hk_collector *collector, struct hk_job *job)
{
	give_up_processes(job);
	while (hk_window_slide(collector, job)) {
	}
	int r = announce(collector, job, HK_JOB_ENDING);
	r = r < 0 ? r : write_end(collector, job);
	const char *given_up = r < 0 ? no_place(collector, job, r) : NULL;
	if (given_up) {
		hk_warning("job given up, %s id=%s", given_up, job->state->id);
		job->state->closed = true;
		r = 0;
	}
	if (r < 0 && r != job->close_error) {
		hk_warning("job not closed yet id=%s error=%s", job->state->id, strerror(-r));
	}
	job->close_error = r;
	job->close_tried_ns = hk_clock_monotonic_ns();
	if (r < 0) {
		return r;
	}
	announce(collector, job, HK_JOB_CLOSING);
	hk_jobdir_unlink(collector->dirfd[0], HK_RUNDIR_OPEN, job->state->id);
	announce(collector, job, HK_JOB_CLOSED);
	job->statistics = hk_statistics_free(job->statistics);
	forget_processes(collector, job);
	/* Of a thousand ranks that is hundreds of MiB, which the next job may never need. */
	malloc_trim(0);
	job->closed_ns = hk_clock_monotonic_ns();
	collector->closed_any = true;
	hk_info("job closed id=%s exit=%s", job->state->id, job->state->exit);
	forget_oldest(collector);
	return 0;
}

int hk_job_recall(struct hk_collector *collector, const char *id)
{
	char path[PATH_MAX], clean[HK_JOBDIR_ID_BYTES];
	Hk__Snapshot *snapshot = NULL;
	struct hk_job *job;
	hk_jobdir_id(id, clean);
	int length = snprintf(path, sizeof(path), "%s/%s", collector->store, id);
	if (strcmp(clean, id) != 0 || length < 0 || length >= PATH_MAX) {
		return -EINVAL;
	}
	DL_FOREACH (collector->jobs, job) {
		if (strcmp(job->state->directory, path) == 0) {
			return -EEXIST;
		}
	}
	int r = hk_statistics_load(path, &snapshot);
	if (!snapshot) {
		return r;
	}
	r = *snapshot->job->key ? job_new(&job) : -ENOENT;
	if (r == 0) {
		hk__job__free_unpacked(job->state, NULL);
		job->state = snapshot->job;
		job->state->closed = true;
		snapshot->job = NULL;
		/* The last one in the list is the newest. */
		DL_PREPEND(collector->jobs, job);
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
		forget_processes(collector, job);
		job->state->closed = true;
		return r;
	}
	announce(collector, job, HK_JOB_FORGOTTEN);
	/* Its command has ended or never was: it closes again when nothing lives. */
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
	/* Its directory was removed: what comes now is kept in another one. */
	snprintf(path, sizeof(path), "%s", (*job)->state->directory);
	hk_job_drop(collector, path);
	return hk_job_open(collector, request, job);
}
