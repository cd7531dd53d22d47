#include "collector/link/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/job/jobdir.h"
#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/process/ancestry.h"
#include "collector/spool/retention.h"
#include "collector/spool/spool.h"
#include "wire/change.h"
#include "wire/message.h"
#include "wire/statistics.h"

#define JOBS_MAX 1024u

/* ---- processes ---- */

static struct hk_outbox_process *process_add(struct hk_outbox *outbox, struct hk_outbox_job *job,
					     const uint8_t *uid)
{
	struct hk_outbox_process *process = calloc(1, sizeof(*process));
	if (process) {
		memcpy(process->uid, uid, HK_UID_BYTES);
		process->job = job;
		process->unsent = true;
		HASH_ADD(hh, outbox->processes, uid, HK_UID_BYTES, process);
		DL_APPEND(job->processes, process);
	}
	return process;
}

static void drop(Hk__Process **message)
{
	if (*message) {
		hk__process__free_unpacked(*message, NULL);
		*message = NULL;
	}
}

void hk_outbox_forget(struct hk_outbox_process *process)
{
	drop(&process->acked_state);
	drop(&process->pending_delta);
	process->unsent = true;
}

int hk_outbox_make_delta(struct hk_outbox_process *process, const Hk__Process *state)
{
	if (process->pending_delta) {
		return 1; /* it stays unsent, because it may have changed again */
	}
	int r = hk_change_make(state, process->known ? process->acked_state : NULL,
			       &process->pending_delta);
	process->unsent = r < 0;
	return r;
}

void hk_outbox_acknowledge_state(struct hk_outbox_process *process)
{
	int r = 0;
	process->sending = false;
	if (!process->pending_delta) {
		return;
	}
	if (!process->acked_state) {
		/* A change against nothing is the whole state. */
		process->acked_state = process->pending_delta;
		process->pending_delta = NULL;
	} else {
		r = hk_change_apply(process->acked_state, process->pending_delta);
	}
	if (r < 0) {
		hk_outbox_forget(process);
	}
	drop(&process->pending_delta);
}

struct hk_outbox_process *hk_outbox_find(const struct hk_outbox *outbox, const uint8_t *uid)
{
	struct hk_outbox_process *process;
	HASH_FIND(hh, outbox->processes, uid, HK_UID_BYTES, process);
	return process;
}

Hk__Process *hk_outbox_values(const struct hk_collector *collector,
			      const struct hk_outbox_process *process)
{
	const struct hk_process *open = hk_ancestry_by_uid(collector, process->uid);
	return open ? open->state : process->state;
}

/* ---- jobs ---- */

Hk__Job *hk_outbox_state(const struct hk_outbox_job *job)
{
	return job->job ? job->job->state : job->state;
}

static struct hk_outbox_job *job_add(struct hk_outbox *outbox)
{
	struct hk_outbox_job *job = calloc(1, sizeof(*job));
	if (job) {
		DL_APPEND(outbox->jobs, job);
	}
	return job;
}

static struct hk_outbox_job *job_of(const struct hk_outbox *outbox, const struct hk_job *job)
{
	struct hk_outbox_job *outgoing;
	DL_FOREACH (outbox->jobs, outgoing) {
		if (outgoing->job == job ||
		    (!outgoing->job &&
		     strcmp(outgoing->state->directory, job->state->directory) == 0)) {
			return outgoing;
		}
	}
	return NULL;
}

static void job_free(struct hk_outbox *outbox, struct hk_outbox_job *job)
{
	struct hk_outbox_process *process, *next;
	hk_outbox_unload(job);
	hk_leaf_arrivals_fini(&job->arrivals);
	DL_FOREACH_SAFE(job->processes, process, next)
	{
		HASH_DEL(outbox->processes, process);
		hk_outbox_forget(process);
		free(process);
	}
	if (job->state) {
		hk__job__free_unpacked(job->state, NULL);
	}
	DL_DELETE(outbox->jobs, job);
	free(job);
}

void hk_outbox_fini(struct hk_outbox *outbox)
{
	while (outbox->jobs) {
		job_free(outbox, outbox->jobs);
	}
}

/* Notes in the run directory that the closed JOB is to be sent. */
static void note(const struct hk_collector *collector, struct hk_outbox_job *job)
{
	const Hk__Job *state = job->state;
	int r = hk_jobdir_link(collector->dirfd[0], job->complete ? HK_OUTBOX_DONE : HK_OUTBOX_LINK,
			       state->id, state->directory);
	job->unnoted = r < 0;
	/* The job needs its note: without one a later collector would not send it. */
	if (r == 0 && job->complete) {
		hk_jobdir_unlink(collector->dirfd[0], HK_OUTBOX_LINK, state->id);
	}
}

/* ---- open jobs ---- */

static bool update_process(struct hk_outbox *outbox, struct hk_outbox_job *job,
			   struct hk_process *process)
{
	struct hk_outbox_process *outgoing = hk_outbox_find(outbox, process->uid);
	bool news = !outgoing;
	if (!outgoing && !(outgoing = process_add(outbox, job, process->uid))) {
		return false;
	}
	struct hk_spool *spool = process->segment ? process->segment->spool : NULL;
	if (spool && outgoing->files != hk_spool_files(spool)) {
		/* The process's chunks are in another file now. */
		outgoing->files = hk_spool_files(spool);
		outgoing->walk = HK_CHUNK_WALK(-1);
		outgoing->kept_bytes = 0;
	}
	outgoing->written_bytes = spool ? hk_spool_bytes(spool) : process->stored_bytes;
	if (process->upload.unsent) {
		outgoing->unsent = true;
		process->upload.unsent = false;
		news |= process->exited && !process->segment;
	}
	return news;
}

static bool update_job(struct hk_outbox *outbox, struct hk_job *job)
{
	struct hk_outbox_job *outgoing = job->outgoing;
	struct hk_process *process;
	bool news = false;
	if (!outgoing) {
		/* The job may have been closed and reopened. */
		outgoing = job_of(outbox, job);
		news = true;
		if (!outgoing && !(outgoing = job_add(outbox))) {
			return false;
		}
		if (outgoing->state) {
			hk__job__free_unpacked(outgoing->state, NULL);
			outgoing->state = NULL;
		}
		hk_outbox_unload(outgoing);
		outgoing->job = job;
		outgoing->complete = outgoing->complete_sending = false;
		job->outgoing = outgoing;
	}
	DL_FOREACH (job->processes, process) {
		news |= update_process(outbox, outgoing, process);
	}
	return news;
}

bool hk_outbox_update(struct hk_outbox *outbox, struct hk_collector *collector)
{
	struct hk_outbox_job *outgoing;
	struct hk_job *job;
	bool news = false;
	DL_FOREACH (collector->jobs, job) {
		if (!job->state->closed) {
			news |= update_job(outbox, job);
		}
	}
	DL_FOREACH (outbox->jobs, outgoing) {
		if (outgoing->state && outgoing->unnoted) {
			note(collector, outgoing);
		}
	}
	return news;
}

/* ---- closed jobs ---- */

static Hk__Job *copy_state(const Hk__Job *state)
{
	uint8_t *bytes;
	size_t size;
	ProtobufCMessage *copy = NULL;
	if (hk_message_pack(&state->base, &bytes, &size) == 0) {
		hk_message_unpack(&hk__job__descriptor, bytes, size, &copy);
		free(bytes);
	}
	return (Hk__Job *)copy;
}

void hk_outbox_close(struct hk_outbox *outbox, const struct hk_collector *collector,
		     struct hk_job *job)
{
	update_job(outbox, job);
	hk_jobdir_unlink(collector->dirfd[0], HK_OUTBOX_DONE, job->state->id);
	if (!job->outgoing) {
		return;
	}
	hk_leaf_arrivals_take(&job->outgoing->arrivals, job);
	job->outgoing->state = copy_state(job->state);
	job->outgoing->job = NULL;
	if (!job->outgoing->state) {
		/* Out of memory: the next collector continues the job by its note. */
		job_free(outbox, job->outgoing);
	}
	job->outgoing = NULL;
}

/* Restores a job from its note. Jobs beyond JOBS_MAX are left to the next collector. */
static int restore(struct hk_outbox *outbox, const char *path, bool complete)
{
	Hk__Snapshot *snapshot = NULL;
	struct hk_outbox_job *job;
	uint32_t count = 0;
	DL_FOREACH (outbox->jobs, job) {
		if (strcmp(job->state->directory, path) == 0 || ++count >= JOBS_MAX) {
			return 0;
		}
	}
	int r = hk_statistics_load(path, &snapshot);
	if (!snapshot) {
		return r;
	}
	job = job_add(outbox);
	r = job ? 0 : -ENOMEM;
	if (job) {
		job->state = snapshot->job;
		job->complete = complete;
		job->complete_ns = hk_clock_monotonic_ns();
		snapshot->job = NULL;
	}
	for (size_t i = 0; i < snapshot->n_processes && r == 0; i++) {
		const uint8_t *uid = snapshot->processes[i]->uid.data;
		if (!hk_outbox_find(outbox, uid) && !process_add(outbox, job, uid)) {
			r = -ENOMEM;
		}
	}
	hk__snapshot__free_unpacked(snapshot, NULL);
	if (r < 0 && job) {
		job_free(outbox, job);
	}
	return r;
}

static int take_unsent(void *context, const char *path)
{
	return restore(context, path, false);
}

static int take_sent(void *context, const char *path)
{
	return restore(context, path, true);
}

void hk_outbox_restore(struct hk_outbox *outbox, const struct hk_collector *collector)
{
	hk_jobdir_take_up(collector->dirfd[0], HK_OUTBOX_LINK, take_unsent, outbox);
	hk_jobdir_take_up(collector->dirfd[0], HK_OUTBOX_DONE, take_sent, outbox);
}

void hk_outbox_link_all(const struct hk_outbox *outbox, const struct hk_collector *collector)
{
	struct hk_outbox_job *job;
	DL_FOREACH (outbox->jobs, job) {
		if (job->state) {
			note(collector, job);
		}
	}
}

int hk_outbox_load(struct hk_outbox_job *job)
{
	struct hk_outbox_process *process;
	struct stat status;
	char path[PATH_MAX];
	if (job->loaded) {
		return 0;
	}
	int r = hk_statistics_load(job->state->directory, &job->loaded);
	if (!job->loaded) {
		return r;
	}
	for (size_t i = 0; i < job->loaded->n_processes; i++) {
		Hk__Process *state = job->loaded->processes[i];
		DL_FOREACH (job->processes, process) {
			if (memcmp(process->uid, state->uid.data, HK_UID_BYTES) == 0) {
				process->state = state;
				break;
			}
		}
	}
	DL_FOREACH (job->processes, process) {
		bool there = hk_outbox_chunk_path(process, path) == 0 && stat(path, &status) == 0;
		process->written_bytes = there ? (uint64_t)status.st_size : 0;
	}
	return 0;
}

void hk_outbox_unload(struct hk_outbox_job *job)
{
	struct hk_outbox_process *process;
	if (!job->loaded) {
		return;
	}
	DL_FOREACH (job->processes, process) {
		process->state = NULL;
	}
	hk__snapshot__free_unpacked(job->loaded, NULL);
	job->loaded = NULL;
}

void hk_outbox_postpone(struct hk_outbox *outbox, struct hk_outbox_job *job)
{
	hk_outbox_unload(job);
	DL_DELETE(outbox->jobs, job);
	DL_APPEND(outbox->jobs, job);
}

void hk_outbox_name(struct hk_outbox_job *job, const char *id)
{
	Hk__Job *state = hk_outbox_state(job);
	struct hk_statistics *statistics;
	if (strcmp(state->upstream_id, id) == 0 ||
	    hk_field_set_string(&state->upstream_id, id) < 0) {
		return;
	}
	if (job->job) {
		job->job->changed = true;
	} else if (hk_statistics_open(state->directory, &statistics) == 0) {
		hk_statistics_put_job(statistics, state);
		hk_statistics_free(statistics);
	}
}

bool hk_outbox_all_sent(const struct hk_outbox_job *job)
{
	const struct hk_outbox_process *process;
	if (job->job || !job->announced) {
		return false;
	}
	DL_FOREACH (job->processes, process) {
		if (!process->known || process->unsent || process->sending ||
		    process->chunks_sending > 0 || process->acknowledged < process->sent ||
		    hk_outbox_has_chunk(process)) {
			return false;
		}
	}
	return true;
}

void hk_outbox_complete(const struct hk_collector *collector, struct hk_outbox_job *job,
			uint64_t now_ns)
{
	job->complete = true;
	job->complete_ns = now_ns;
	hk_outbox_unload(job);
	note(collector, job);
}

void hk_outbox_remove(struct hk_outbox *outbox, const struct hk_collector *collector,
		      struct hk_outbox_job *job)
{
	const struct hk_outbox_process *process;
	char path[PATH_MAX];
	/* The job's records are on the root. */
	DL_FOREACH (job->processes, process) {
		if (hk_outbox_chunk_path(process, path) == 0) {
			unlink(path);
		}
	}
	hk_jobdir_unlink(collector->dirfd[0], HK_OUTBOX_LINK, job->state->id);
	hk_jobdir_unlink(collector->dirfd[0], HK_OUTBOX_DONE, job->state->id);
	job_free(outbox, job);
}

/* ---- connections ---- */

void hk_outbox_reset(struct hk_outbox *outbox)
{
	struct hk_outbox_process *process, *next;
	struct hk_outbox_job *job;
	HASH_ITER (hh, outbox->processes, process, next) {
		process->known = process->sending = false;
		hk_outbox_forget(process);
		process->chunks_sending = 0;
		process->hold_ns = 0;
		hk_outbox_rewind(process);
	}
	DL_FOREACH (outbox->jobs, job) {
		job->announced = job->complete_sending = false;
	}
}

void hk_outbox_unsend(struct hk_outbox *outbox)
{
	struct hk_outbox_process *process, *next;
	struct hk_outbox_job *job;
	HASH_ITER (hh, outbox->processes, process, next) {
		process->unsent |= process->sending;
		process->sending = false;
	}
	DL_FOREACH (outbox->jobs, job) {
		job->complete_sending = false;
	}
}

/* ---- room ---- */

void hk_outbox_release(struct hk_outbox *outbox, struct hk_collector *collector)
{
	struct hk_outbox_process *process, *next;
	HASH_ITER (hh, outbox->processes, process, next) {
		struct hk_process *open = process->released != process->acknowledged
					      ? hk_ancestry_by_uid(collector, process->uid)
					      : NULL;
		if (open) {
			hk_retention_release(collector, open, process->acknowledged);
			process->released = process->acknowledged;
		}
	}
}

uint64_t hk_outbox_evicted(const struct hk_outbox *outbox, const struct hk_collector *collector)
{
	const struct hk_outbox_process *process, *next;
	uint64_t records = 0;
	HASH_ITER (hh, outbox->processes, process, next) {
		const Hk__Process *state = hk_outbox_values(collector, process);
		records += state ? state->records_shed : 0;
	}
	return records;
}

uint64_t hk_outbox_bytes(const struct hk_outbox *outbox)
{
	const struct hk_outbox_process *process, *next;
	uint64_t bytes = 0;
	HASH_ITER (hh, outbox->processes, process, next) {
		bytes += process->written_bytes > process->kept_bytes
			     ? process->written_bytes - process->kept_bytes
			     : 0;
	}
	return bytes;
}
