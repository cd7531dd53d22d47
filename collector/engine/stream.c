#include "collector/engine/stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/engine/answer.h"
#include "collector/engine/handle.h"
#include "collector/engine/lease.h"
#include "collector/engine/subject.h"

#define SECOND_NS INT64_C(1000000000)
/* A message that comes again within this time is known by its id. Later its number tells. */
#define DUPLICATES_NS (120 * SECOND_NS)
#define WITHOUT (-1)
#define KEY_VALUE "KV_" /* the engine's prefix of the stream of a bucket */

/* ---- making ---- */

static void set_limits(jsStreamConfig *config, const struct hk_stream_plan *plan)
{
	config->MaxBytes = plan->keep_bytes ? (int64_t)plan->keep_bytes : WITHOUT;
	config->MaxAge = (int64_t)plan->keep_ns;
	config->Duplicates = plan->keep_ns && (int64_t)plan->keep_ns < DUPLICATES_NS
				 ? (int64_t)plan->keep_ns
				 : DUPLICATES_NS;
	if (plan->replicas) {
		config->Replicas = plan->replicas;
	}
}

static natsStatus change(struct hk_engine *engine, const char *name,
			 const struct hk_stream_plan *plan, bool limits, jsErrCode *code)
{
	const struct hk_nats *nats = hk_engine_nats(engine);
	jsCtx *stream = hk_engine_stream(engine);
	jsStreamInfo *info = NULL;
	natsStatus status = nats->js_GetStreamInfo(&info, stream, name, NULL, code);
	if (status != NATS_OK) {
		return status;
	}
	if (limits) {
		set_limits(info->Config, plan);
	} else if (plan->replicas) {
		info->Config->Replicas = plan->replicas;
	}
	status = nats->js_UpdateStream(NULL, stream, info->Config, NULL, code);
	nats->jsStreamInfo_Destroy(info);
	return status;
}

static natsStatus make_stream(struct hk_engine *engine, const struct hk_stream_plan *plan,
			      jsErrCode *code)
{
	const struct hk_nats *nats = hk_engine_nats(engine);
	const char *subjects[] = {HK_SUBJECT_ALL};
	jsStreamConfig config;
	nats->jsStreamConfig_Init(&config);
	config.Name = HK_SUBJECT_STREAM;
	config.Subjects = subjects;
	config.SubjectsLen = 1;
	config.Storage = js_FileStorage;
	config.Discard = js_DiscardNew;
	set_limits(&config, plan);
	natsStatus status = nats->js_AddStream(NULL, hk_engine_stream(engine), &config, NULL, code);
	return *code == JSStreamNameExistErr ? change(engine, config.Name, plan, true, code)
					     : status;
}

static natsStatus make_bucket(struct hk_engine *engine, const struct hk_stream_plan *plan,
			      const char *name, uint64_t seconds, jsErrCode *code)
{
	const struct hk_nats *nats = hk_engine_nats(engine);
	char stream[64];
	kvStore *bucket = NULL;
	kvConfig config;
	natsStatus status = nats->js_KeyValue(&bucket, hk_engine_stream(engine), name);
	if (status == NATS_OK) {
		nats->kvStore_Destroy(bucket);
		snprintf(stream, sizeof(stream), KEY_VALUE "%s", name);
		return plan->replicas ? change(engine, stream, plan, false, code) : NATS_OK;
	}
	nats->kvConfig_Init(&config);
	config.Bucket = name;
	config.TTL = (int64_t)seconds * SECOND_NS;
	config.Replicas = plan->replicas ? (int)plan->replicas : 1;
	config.StorageType = js_FileStorage;
	status = nats->js_CreateKeyValue(&bucket, hk_engine_stream(engine), &config);
	nats->kvStore_Destroy(bucket);
	return status;
}

/* Writes how many partitions there are, or reads it. */
static int settle_partitions(struct hk_engine *engine, struct hk_stream_plan *plan,
			     char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct hk_nats *nats = hk_engine_nats(engine);
	kvStore *bucket = NULL;
	unsigned now = 0, wanted = plan->partitions ? plan->partitions : 1;
	char text[16];
	natsStatus status = nats->js_KeyValue(&bucket, hk_engine_stream(engine), HK_SUBJECT_STATE);
	snprintf(text, sizeof(text), "%u", wanted);
	if (status == NATS_OK) {
		status = nats->kvStore_CreateString(NULL, bucket, HK_SUBJECT_PARTITIONS, text);
	}
	nats->kvStore_Destroy(bucket);
	int r = status == NATS_OK ? 0 : hk_stream_partitions(engine, &now, problem);
	now = status == NATS_OK ? wanted : now;
	if (r == 0 && plan->partitions && plan->partitions != now) {
		snprintf(problem, HK_ENGINE_PROBLEM_BYTES,
			 "there are %u partitions, and what is stored is spread over them", now);
		r = -EEXIST;
	}
	plan->partitions = now;
	return r;
}

int hk_stream_setup(struct hk_engine *engine, struct hk_stream_plan *plan,
		    char problem[HK_ENGINE_PROBLEM_BYTES])
{
	jsErrCode code = 0;
	if (!hk_engine_connected(engine)) {
		return -EAGAIN;
	}
	natsStatus status = make_stream(engine, plan, &code);
	if (status == NATS_OK) {
		status = make_bucket(engine, plan, HK_SUBJECT_STATE, 0, &code);
	}
	if (status == NATS_OK) {
		status = make_bucket(engine, plan, HK_SUBJECT_LEASES, 0, &code);
	}
	if (status == NATS_OK) {
		status = make_bucket(engine, plan, HK_SUBJECT_ANSWERS, HK_ANSWER_SECONDS, &code);
	}
	return status == NATS_OK ? settle_partitions(engine, plan, problem)
				 : hk_engine_failed(engine, status, code, problem);
}

/* ---- looking ---- */

int hk_stream_state(struct hk_engine *engine, struct hk_stream_state *ret_state,
		    char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct hk_nats *nats = hk_engine_nats(engine);
	jsStreamInfo *info = NULL;
	jsErrCode code = 0;
	*ret_state = (struct hk_stream_state){0};
	if (!hk_engine_connected(engine)) {
		return -EAGAIN;
	}
	natsStatus status =
	    nats->js_GetStreamInfo(&info, hk_engine_stream(engine), HK_SUBJECT_STREAM, NULL, &code);
	if (status != NATS_OK) {
		return code == JSStreamNotFoundErr || status == NATS_NOT_FOUND
			   ? (snprintf(problem, HK_ENGINE_PROBLEM_BYTES, "it has no stream"),
			      -ENOENT)
			   : hk_engine_failed(engine, status, code, problem);
	}
	*ret_state = (struct hk_stream_state){
	    .messages = info->State.Msgs,
	    .bytes = info->State.Bytes,
	    .created = info->Created,
	    .first = info->State.FirstSeq,
	    .last = info->State.LastSeq,
	    .keep_bytes = info->Config->MaxBytes > 0 ? (uint64_t)info->Config->MaxBytes : 0,
	    .keep_ns = (uint64_t)info->Config->MaxAge,
	    .replicas = (unsigned)info->Config->Replicas,
	};
	snprintf(ret_state->leader, sizeof(ret_state->leader), "%s",
		 info->Cluster && info->Cluster->Leader ? info->Cluster->Leader : "");
	nats->jsStreamInfo_Destroy(info);
	return 0;
}

int hk_stream_partitions(struct hk_engine *engine, unsigned *ret_partitions,
			 char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct hk_nats *nats = hk_engine_nats(engine);
	kvStore *bucket = NULL;
	kvEntry *entry = NULL;
	if (!hk_engine_connected(engine)) {
		return -EAGAIN;
	}
	natsStatus status = nats->js_KeyValue(&bucket, hk_engine_stream(engine), HK_SUBJECT_STATE);
	status =
	    status == NATS_OK ? nats->kvStore_Get(&entry, bucket, HK_SUBJECT_PARTITIONS) : status;
	unsigned long count =
	    status == NATS_OK ? strtoul(nats->kvEntry_ValueString(entry), NULL, 10) : 0;
	nats->kvEntry_Destroy(entry);
	nats->kvStore_Destroy(bucket);
	if (status == NATS_NOT_FOUND) {
		snprintf(problem, HK_ENGINE_PROBLEM_BYTES,
			 "it is not set up: hookcollector stream setup does that");
		return -ENOENT;
	}
	if (status != NATS_OK) {
		return hk_engine_failed(engine, status, 0, problem);
	}
	if (count < 1 || count > HK_SUBJECT_PARTITIONS_MAX) {
		snprintf(problem, HK_ENGINE_PROBLEM_BYTES, "its number of partitions is no number");
		return -EBADMSG;
	}
	*ret_partitions = (unsigned)count;
	return 0;
}

int hk_stream_behind(struct hk_engine *engine, unsigned partition, uint64_t after,
		     uint64_t *ret_count, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct hk_nats *nats = hk_engine_nats(engine);
	jsCtx *stream = hk_engine_stream(engine);
	char subject[HK_SUBJECT_BYTES];
	jsConsumerConfig config;
	jsConsumerInfo *info = NULL;
	jsErrCode code = 0;
	if (!hk_engine_connected(engine)) {
		return -EAGAIN;
	}
	hk_subject_all_of(partition, subject);
	nats->jsConsumerConfig_Init(&config);
	config.DeliverPolicy = js_DeliverByStartSequence;
	config.OptStartSeq = after + 1;
	config.AckPolicy = js_AckNone;
	config.FilterSubject = subject;
	natsStatus status =
	    nats->js_AddConsumer(&info, stream, HK_SUBJECT_STREAM, &config, NULL, &code);
	if (status != NATS_OK) {
		return hk_engine_failed(engine, status, code, problem);
	}
	*ret_count = info->NumPending;
	nats->js_DeleteConsumer(stream, HK_SUBJECT_STREAM, info->Name, NULL, NULL);
	nats->jsConsumerInfo_Destroy(info);
	return 0;
}

int hk_stream_last(struct hk_engine *engine, unsigned partition, uint64_t *ret_last,
		   char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct hk_nats *nats = hk_engine_nats(engine);
	char subject[HK_SUBJECT_BYTES];
	natsMsg *last = NULL;
	jsErrCode code = 0;
	*ret_last = 0;
	if (!hk_engine_connected(engine)) {
		return -EAGAIN;
	}
	hk_subject_all_of(partition, subject);
	natsStatus status = nats->js_GetLastMsg(&last, hk_engine_stream(engine), HK_SUBJECT_STREAM,
						subject, NULL, &code);
	if (status == NATS_NOT_FOUND && code != JSStreamNotFoundErr) {
		return 0;
	}
	if (status != NATS_OK) {
		return hk_engine_failed(engine, status, code, problem);
	}
	*ret_last = nats->natsMsg_GetSequence(last);
	nats->natsMsg_Destroy(last);
	return 0;
}

int hk_stream_purge(struct hk_engine *engine, uint64_t first, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct hk_nats *nats = hk_engine_nats(engine);
	jsOptions options;
	jsErrCode code = 0;
	if (!hk_engine_connected(engine)) {
		return -EAGAIN;
	}
	nats->jsOptions_Init(&options);
	options.Stream.Purge.Sequence = first;
	natsStatus status =
	    nats->js_PurgeStream(hk_engine_stream(engine), HK_SUBJECT_STREAM, &options, &code);
	return status == NATS_OK ? 0 : hk_engine_failed(engine, status, code, problem);
}
