#include "collector/uplink/stored.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t now_unix_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static Hk__ChunkReply *chunk_reply(ProtobufCBinaryData uid, uint64_t last)
{
	Hk__ChunkReply *reply = malloc(sizeof(*reply));
	uint8_t *copy = malloc(uid.len + 1);
	if (!reply || !copy) {
		free(reply);
		free(copy);
		return NULL;
	}
	hk__chunk_reply__init(reply);
	memcpy(copy, uid.data, uid.len);
	reply->process = (ProtobufCBinaryData){uid.len, copy};
	reply->last = last;
	return reply;
}

/* What is complete is as good as saved. Without a root's answer the job keeps the id that its leaf
 * gave it. */
static Hk__LeafJobReply *own_reply(const Hk__LeafJob *job)
{
	Hk__LeafJobReply *reply = malloc(sizeof(*reply));
	char *key = strdup(job->job->key), *id = strdup(*job->id ? job->id : job->job->id);
	if (!reply || !key || !id) {
		free(reply);
		free(key);
		free(id);
		return NULL;
	}
	hk__leaf_job_reply__init(reply);
	reply->key = key;
	reply->id = id;
	reply->opened_unix_ns = job->job->opened_unix_ns;
	return reply;
}

static int job_reply(const struct hk_stored_engine *engine, const Hk__LeafJob *job,
		     Hk__LeafJobReply **ret_reply)
{
	Hk__LeafJobReply *reply = NULL;
	int r = engine->answer(engine->context, job, &reply);
	if (r < 0) {
		return r;
	}
	/* An answer to a report before a job's last one does not refuse the last. */
	bool whole = reply && strcmp(reply->key, job->job->key) == 0 &&
		     reply->opened_unix_ns == job->job->opened_unix_ns &&
		     (reply->error == 0 || reply->error == -ESTALE);
	if (!whole) {
		if (reply) {
			hk__leaf_job_reply__free_unpacked(reply, NULL);
		}
		reply = own_reply(job);
	}
	if (reply) {
		reply->saved = job->complete;
	}
	*ret_reply = reply;
	return reply ? 0 : -ENOMEM;
}

static size_t processes_of(const Hk__LeafReport *report)
{
	size_t count = 0;
	for (size_t i = 0; i < report->n_jobs; i++) {
		count += report->jobs[i]->n_processes;
	}
	return count;
}

/* Adds how far each process of JOB is stored. */
static int add_chunks(const struct hk_stored_engine *engine, const Hk__LeafJob *job,
		      Hk__LeafReply *reply)
{
	for (size_t i = 0; i < job->n_processes; i++) {
		uint64_t number;
		int r = engine->last(engine->context, job->processes[i]->uid, &number);
		Hk__ChunkReply *chunk = r < 0 ? NULL : chunk_reply(job->processes[i]->uid, number);
		if (!chunk) {
			return r < 0 ? r : -ENOMEM;
		}
		reply->chunks[reply->n_chunks++] = chunk;
	}
	return 0;
}

static int fill(const struct hk_stored_engine *engine, const Hk__LeafReport *report,
		Hk__LeafReply *reply)
{
	int r = 0;
	reply->epoch = 1; /* the engine forgets nothing that it has stored */
	reply->now_unix_ns = now_unix_ns();
	reply->jobs = calloc(report->n_jobs + 1, sizeof(*reply->jobs));
	reply->chunks = calloc(processes_of(report) + 1, sizeof(*reply->chunks));
	if (!reply->jobs || !reply->chunks) {
		return -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < report->n_jobs; i++) {
		Hk__LeafJobReply *job;
		r = job_reply(engine, report->jobs[i], &job);
		if (r < 0) {
			return r;
		}
		reply->jobs[reply->n_jobs++] = job;
		r = report->resume ? add_chunks(engine, report->jobs[i], reply) : 0;
	}
	return r;
}

static int make(const Hk__Request *request, const struct hk_stored_engine *engine,
		Hk__Response *response)
{
	if (request->what_case == HK__REQUEST__WHAT_STACKS_PUT) {
		return 0;
	}
	if (request->what_case == HK__REQUEST__WHAT_CHUNK) {
		response->chunk = chunk_reply(request->chunk->process, request->chunk->number);
		return response->chunk ? 0 : -ENOMEM;
	}
	response->leaf = malloc(sizeof(*response->leaf));
	if (!response->leaf) {
		return -ENOMEM;
	}
	hk__leaf_reply__init(response->leaf);
	return fill(engine, request->report, response->leaf);
}

int hk_stored_reply(const Hk__Request *request, const struct hk_stored_engine *engine,
		    Hk__Response **ret_response)
{
	Hk__Response *response = malloc(sizeof(*response));
	if (!response) {
		return -ENOMEM;
	}
	hk__response__init(response);
	int r = make(request, engine, response);
	if (r < 0) {
		hk__response__free_unpacked(response, NULL);
		return r;
	}
	*ret_response = response;
	return 0;
}
