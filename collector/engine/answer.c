#include "collector/engine/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "collector/engine/handle.h"
#include "collector/engine/subject.h"
#include "wire/message.h"

/* FNV-1a, which is enough for the jobs of one node. */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	for (; *text; text++) {
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	}
	return hash;
}

void hk_answer_key(const uint8_t node[HK_NODE_ID_BYTES], const char *key, uint64_t opened_unix_ns,
		   char ret_key[HK_ANSWER_KEY_BYTES])
{
	int used = 0;
	for (size_t i = 0; i < 8; i++) {
		used +=
		    snprintf(ret_key + used, HK_ANSWER_KEY_BYTES - (size_t)used, "%02x", node[i]);
	}
	snprintf(ret_key + used, HK_ANSWER_KEY_BYTES - (size_t)used, ".%016" PRIx64,
		 hash_of(key) ^ opened_unix_ns);
}

static natsStatus open_bucket(struct hk_engine *engine, kvStore **ret_bucket)
{
	return hk_engine_nats(engine)->js_KeyValue(ret_bucket, hk_engine_stream(engine),
						   HK_SUBJECT_ANSWERS);
}

int hk_answer_put(struct hk_engine *engine, const char *key, const void *bytes, size_t size,
		  char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct hk_nats *nats = hk_engine_nats(engine);
	kvStore *bucket = NULL;
	if (!hk_engine_connected(engine)) {
		return -EAGAIN;
	}
	natsStatus status = open_bucket(engine, &bucket);
	status =
	    status == NATS_OK ? nats->kvStore_Put(NULL, bucket, key, bytes, (int)size) : status;
	nats->kvStore_Destroy(bucket);
	return status == NATS_OK ? 0 : hk_engine_failed(engine, status, 0, problem);
}

int hk_answer_get(struct hk_engine *engine, const char *key, Hk__LeafJobReply **ret_answer,
		  uint64_t *ret_revision, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct hk_nats *nats = hk_engine_nats(engine);
	kvStore *bucket = NULL;
	kvEntry *entry = NULL;
	ProtobufCMessage *message = NULL;
	int r = 0;
	*ret_answer = NULL;
	*ret_revision = 0;
	if (!hk_engine_connected(engine)) {
		return -EAGAIN;
	}
	natsStatus status = open_bucket(engine, &bucket);
	status = status == NATS_OK ? nats->kvStore_Get(&entry, bucket, key) : status;
	if (status == NATS_OK) {
		r = hk_message_unpack(&hk__leaf_job_reply__descriptor, nats->kvEntry_Value(entry),
				      (size_t)nats->kvEntry_ValueLen(entry), &message);
		*ret_answer = (Hk__LeafJobReply *)message;
		*ret_revision = nats->kvEntry_Revision(entry);
	} else if (status != NATS_NOT_FOUND) {
		r = hk_engine_failed(engine, status, 0, problem);
	}
	nats->kvEntry_Destroy(entry);
	nats->kvStore_Destroy(bucket);
	return r;
}
