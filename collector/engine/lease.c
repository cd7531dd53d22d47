#include "collector/engine/lease.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/engine/handle.h"
#include "collector/engine/subject.h"

#define KEY_BYTES 32u
#define KEY_CLOCK "clock" /* written to know the engine's time */
#define LEASE_NS (HK_LEASE_SECONDS * INT64_C(1000000000))
#define TRIES 10
#define TRY_NS 200000000

struct value {
	char text[HK_LEASE_OWNER_BYTES];
	uint64_t revision;  /* 0: there is none */
	int64_t written_ns; /* by the engine's clock */
};

static int open_bucket(struct hk_engine *engine, const char *name, kvStore **ret_bucket,
		       char problem[HK_ENGINE_PROBLEM_BYTES])
{
	if (!hk_engine_connected(engine)) {
		hk_engine_problem(engine, problem);
		return -EAGAIN;
	}
	natsStatus status =
	    hk_engine_nats(engine)->js_KeyValue(ret_bucket, hk_engine_stream(engine), name);
	if (status == NATS_NOT_FOUND) {
		snprintf(problem, HK_ENGINE_PROBLEM_BYTES,
			 "it is not set up: hookcollector stream setup does that");
		return -ENOENT;
	}
	return status == NATS_OK ? 0 : hk_engine_failed(engine, status, 0, problem);
}

static int read_key(struct hk_engine *engine, const char *bucket_name, const char *key,
		    struct value *ret_value, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct hk_nats *nats = hk_engine_nats(engine);
	kvStore *bucket = NULL;
	kvEntry *entry = NULL;
	*ret_value = (struct value){.revision = 0};
	int r = open_bucket(engine, bucket_name, &bucket, problem);
	if (r < 0) {
		return r;
	}
	natsStatus status = nats->kvStore_Get(&entry, bucket, key);
	if (status == NATS_OK) {
		const char *text = nats->kvEntry_ValueString(entry);
		snprintf(ret_value->text, sizeof(ret_value->text), "%s", text ? text : "");
		ret_value->revision = nats->kvEntry_Revision(entry);
		ret_value->written_ns = nats->kvEntry_Created(entry);
	}
	nats->kvEntry_Destroy(entry);
	nats->kvStore_Destroy(bucket);
	return status == NATS_OK || status == NATS_NOT_FOUND
		   ? 0
		   : hk_engine_failed(engine, status, 0, problem);
}

/* Writes TEXT if *REVISION is the newest one, 0: if there is none. */
static int write_key(struct hk_engine *engine, const char *bucket_name, const char *key,
		     const char *text, uint64_t *revision, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct hk_nats *nats = hk_engine_nats(engine);
	kvStore *bucket = NULL;
	int r = open_bucket(engine, bucket_name, &bucket, problem);
	if (r < 0) {
		return r;
	}
	natsStatus status = *revision
				? nats->kvStore_UpdateString(revision, bucket, key, text, *revision)
				: nats->kvStore_CreateString(revision, bucket, key, text);
	nats->kvStore_Destroy(bucket);
	return status == NATS_OK ? 0 : hk_engine_failed(engine, status, 0, problem);
}

static void lease_key(unsigned partition, char key[KEY_BYTES])
{
	snprintf(key, KEY_BYTES, "lease.%u", partition);
}

static void position_key(unsigned partition, char key[KEY_BYTES])
{
	snprintf(key, KEY_BYTES, "position.%u", partition);
}

static int tell_clock(struct hk_engine *engine, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	kvStore *bucket = NULL;
	int r = open_bucket(engine, HK_SUBJECT_LEASES, &bucket, problem);
	if (r < 0) {
		return r;
	}
	natsStatus status = hk_engine_nats(engine)->kvStore_Put(NULL, bucket, KEY_CLOCK, "", 0);
	hk_engine_nats(engine)->kvStore_Destroy(bucket);
	return status == NATS_OK ? 0 : hk_engine_failed(engine, status, 0, problem);
}

/* Reads who has PARTITION. *RET_OVER: it was not renewed in time. The engine is not asked to forget
 * it: a server that is killed while a bucket is empty loses count of the bucket's messages. */
static int read_lease(struct hk_engine *engine, unsigned partition, struct value *ret_value,
		      bool *ret_over, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	char key[KEY_BYTES];
	struct value clock;
	lease_key(partition, key);
	*ret_over = false;
	int r = read_key(engine, HK_SUBJECT_LEASES, key, ret_value, problem);
	if (r < 0 || !ret_value->revision) {
		return r;
	}
	if (!*ret_value->text) {
		*ret_over = true; /* it was given back */
		return 0;
	}
	r = tell_clock(engine, problem);
	r = r < 0 ? r : read_key(engine, HK_SUBJECT_LEASES, KEY_CLOCK, &clock, problem);
	*ret_over = r == 0 && clock.written_ns - ret_value->written_ns >= LEASE_NS;
	return r;
}

/* Reads the position, and writes it again. An earlier owner of the lease can then write it no more.
 * If a replica answers with an older position, the write fails, and both are tried again. */
static int take_position(struct hk_lease *lease, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct timespec pause = {.tv_nsec = TRY_NS};
	char key[KEY_BYTES];
	struct value value;
	int r = -EAGAIN;
	position_key(lease->partition, key);
	for (int i = 0; r < 0 && i < TRIES; i++) {
		r = read_key(lease->engine, HK_SUBJECT_STATE, key, &value, problem);
		if (r == 0) {
			char *rest;
			lease->position = strtoull(value.text, &rest, 10);
			lease->created = strtoll(rest, NULL, 10);
			lease->position_revision = value.revision;
			r = hk_lease_position(lease, lease->position, lease->created, problem);
		}
		if (r < 0) {
			nanosleep(&pause, NULL);
		}
	}
	return r;
}

int hk_lease_take(struct hk_engine *engine, unsigned partition, const char *owner,
		  struct hk_lease *ret_lease, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	char key[KEY_BYTES];
	struct value value;
	*ret_lease = (struct hk_lease){.engine = engine, .partition = partition};
	snprintf(ret_lease->owner, sizeof(ret_lease->owner), "%s", owner);
	lease_key(partition, key);
	int r = write_key(engine, HK_SUBJECT_LEASES, key, owner, &ret_lease->revision, problem);
	if (r < 0) {
		bool over, held = read_lease(engine, partition, &value, &over, problem) == 0 &&
				  value.revision;
		if (held && !over) {
			snprintf(problem, HK_ENGINE_PROBLEM_BYTES, "%s", value.text);
			return -EBUSY;
		}
		ret_lease->revision = value.revision;
		r = held ? write_key(engine, HK_SUBJECT_LEASES, key, owner, &ret_lease->revision,
				     problem)
			 : r;
		if (r < 0) {
			return r;
		}
	}
	r = take_position(ret_lease, problem);
	if (r < 0) {
		hk_lease_release(ret_lease);
	}
	return r;
}

int hk_lease_renew(struct hk_lease *lease, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	char key[KEY_BYTES];
	lease_key(lease->partition, key);
	uint64_t own = lease->revision;
	int r = write_key(lease->engine, HK_SUBJECT_LEASES, key, lease->owner, &lease->revision,
			  problem);
	if (r == 0) {
		return 0;
	}
	lease->revision = own;
	struct value value;
	/* A write whose answer was lost has been done: the lease is ours at a newer revision. */
	if (read_key(lease->engine, HK_SUBJECT_LEASES, key, &value, problem) < 0) {
		return r;
	}
	if (strcmp(value.text, lease->owner) != 0) {
		snprintf(problem, HK_ENGINE_PROBLEM_BYTES, "%s has it",
			 value.revision ? value.text : "nobody");
		return -ESTALE;
	}
	lease->revision = value.revision;
	return r;
}

int hk_lease_position(struct hk_lease *lease, uint64_t position, int64_t created,
		      char problem[HK_ENGINE_PROBLEM_BYTES])
{
	char key[KEY_BYTES], text[2 * KEY_BYTES];
	struct value value;
	uint64_t own = lease->position_revision;
	position_key(lease->partition, key);
	snprintf(text, sizeof(text), "%" PRIu64 " %" PRId64, position, created);
	int r = write_key(lease->engine, HK_SUBJECT_STATE, key, text, &lease->position_revision,
			  problem);
	if (r < 0) {
		lease->position_revision = own;
		if (read_key(lease->engine, HK_SUBJECT_STATE, key, &value, problem) < 0 ||
		    value.revision == own) {
			return r;
		}
		/* A write whose answer was lost has been done. */
		if (strcmp(value.text, text) != 0) {
			snprintf(problem, HK_ENGINE_PROBLEM_BYTES, "another has written it");
			return -ESTALE;
		}
		lease->position_revision = value.revision;
	}
	lease->position = position;
	lease->created = created;
	return 0;
}

/* An empty owner is none. A newer lease of another root stays. */
void hk_lease_release(const struct hk_lease *lease)
{
	char key[KEY_BYTES], problem[HK_ENGINE_PROBLEM_BYTES];
	uint64_t revision = lease->revision;
	lease_key(lease->partition, key);
	(void)write_key(lease->engine, HK_SUBJECT_LEASES, key, "", &revision, problem);
}

int hk_lease_look(struct hk_engine *engine, unsigned partition, char owner[HK_LEASE_OWNER_BYTES],
		  uint64_t *ret_position, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	char key[KEY_BYTES];
	struct value value;
	bool over;
	int r = read_lease(engine, partition, &value, &over, problem);
	if (r < 0) {
		return r;
	}
	snprintf(owner, HK_LEASE_OWNER_BYTES, "%s", over ? "" : value.text);
	position_key(partition, key);
	r = read_key(engine, HK_SUBJECT_STATE, key, &value, problem);
	*ret_position = strtoull(value.text, NULL, 10);
	return r;
}
