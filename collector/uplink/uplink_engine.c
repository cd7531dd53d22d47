#include "collector/uplink/uplink_engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/engine/answer.h"
#include "collector/engine/connection.h"
#include "collector/engine/stream.h"
#include "collector/engine/subject.h"
#include "collector/uplink/stored.h"
#include "collector/uplink/uplink_kind.h"
#include "wire/message.h"

#define SECOND_NS UINT64_C(1000000000)
#define WORKERS HK_UPLINK_SLOTS
#define RETRY_NS (SECOND_NS / 4)
/* While a leader is elected, the engine stores nothing for some seconds. */
#define PATIENCE_NS (20 * SECOND_NS)
#define PAUSE_NS SECOND_NS

enum slot_state {
	SLOT_FREE = 0,
	SLOT_QUEUED,
	SLOT_BUSY, /* a worker's */
	SLOT_DONE,
};

/* `state` and `order` are guarded by the lock; the rest belongs to whom `state` says. */
struct slot {
	enum slot_state state;
	uint64_t order;
	bool dropped; /* the connection was given up meanwhile */
	Hk__Request *request;
	uint8_t *bytes;
	size_t size;
	uint8_t node[HK_NODE_ID_BYTES]; /* the sender */
	Hk__Response *response;		/* NULL: it was not stored */
	uint64_t sent_ns, received_ns;
};

struct engine_uplink {
	struct hk_uplink base;
	const char *url;
	struct hk_engine *engine;
	int event_fd;
	_Atomic unsigned partitions; /* of the stream; 0: not known yet */
	_Atomic uint64_t refusal;    /* revision of the last refusal that was passed on */
	uint64_t generation, answers, order, retry_ns;
	uint8_t node[HK_NODE_ID_BYTES]; /* of the last report */
	bool told;
	char problem[HK_ENGINE_PROBLEM_BYTES];
	pthread_mutex_t lock;
	pthread_cond_t queued;
	bool ending, failed;
	char why[HK_ENGINE_PROBLEM_BYTES]; /* of the last failure */
	pthread_t workers[WORKERS];
	unsigned worker_count;
	struct slot slots[HK_UPLINK_SLOTS];
};

static struct engine_uplink *of(struct hk_uplink *base)
{
	return (struct engine_uplink *)(void *)base;
}

static const struct engine_uplink *of_const(const struct hk_uplink *base)
{
	return (const struct engine_uplink *)(const void *)base;
}

static void wake(void *context)
{
	struct engine_uplink *uplink = context;
	uint64_t one = 1;
	(void)!write(uplink->event_fd, &one, sizeof(one));
}

/* ---- on the workers ---- */

/* Whether two exchanges are stored under the same subject. */
static bool same_subject(const struct slot *a, const struct slot *b)
{
	if (a->request->what_case != b->request->what_case) {
		return false;
	}
	return a->request->what_case != HK__REQUEST__WHAT_CHUNK ||
	       hk_message_same_bytes(&a->request->chunk->process, &b->request->chunk->process);
}

/* Whether an earlier exchange of the same subject is under way: they are stored one after the
 * other, or a later one could be stored without it. */
static bool must_wait(const struct engine_uplink *uplink, const struct slot *slot)
{
	for (unsigned i = 0; i < HK_UPLINK_SLOTS; i++) {
		const struct slot *other = &uplink->slots[i];
		if ((other->state == SLOT_QUEUED || other->state == SLOT_BUSY) &&
		    other->order < slot->order && same_subject(other, slot)) {
			return true;
		}
	}
	return false;
}

/* Takes the oldest exchange that need not wait, or NULL at the end. */
static struct slot *take(struct engine_uplink *uplink)
{
	pthread_mutex_lock(&uplink->lock);
	struct slot *oldest = NULL;
	while (!uplink->ending) {
		for (unsigned i = 0; i < HK_UPLINK_SLOTS; i++) {
			struct slot *slot = &uplink->slots[i];
			if (slot->state == SLOT_QUEUED &&
			    (!oldest || slot->order < oldest->order) && !must_wait(uplink, slot)) {
				oldest = slot;
			}
		}
		if (oldest) {
			oldest->state = SLOT_BUSY;
			break;
		}
		pthread_cond_wait(&uplink->queued, &uplink->lock);
	}
	pthread_mutex_unlock(&uplink->lock);
	return oldest;
}

static bool is_given_up(struct engine_uplink *uplink, const struct slot *slot)
{
	pthread_mutex_lock(&uplink->lock);
	bool given_up = uplink->ending || uplink->failed || slot->dropped;
	pthread_mutex_unlock(&uplink->lock);
	return given_up;
}

struct asked {
	struct engine_uplink *uplink;
	const struct slot *slot;
	unsigned partition;
	char *problem;
};

static int last_of(void *context, ProtobufCBinaryData uid, uint64_t *ret_number)
{
	const struct asked *asked = context;
	char subject[HK_SUBJECT_BYTES];
	if (uid.len != HK_UID_BYTES) {
		return -EINVAL;
	}
	hk_subject_chunk(asked->partition, asked->slot->node, uid.data, subject);
	return hk_engine_last(asked->uplink->engine, subject, ret_number, asked->problem);
}

static int answer_of(void *context, const Hk__LeafJob *job, Hk__LeafJobReply **ret_answer)
{
	const struct asked *asked = context;
	char key[HK_ANSWER_KEY_BYTES];
	hk_answer_key(asked->slot->node, job->job->key, job->job->opened_unix_ns, key);
	uint64_t revision;
	int r = hk_answer_get(asked->uplink->engine, key, ret_answer, &revision, asked->problem);
	/* A root that asks for a whole state may die before it takes it: it asks once. */
	if (r == 0 && *ret_answer && (*ret_answer)->error < 0 &&
	    atomic_exchange(&asked->uplink->refusal, revision) >= revision) {
		(*ret_answer)->error = 0;
	}
	return r;
}

/* Sets *RET_PARTITION to that of NODE. The number of partitions changes only with the stream. */
static int partition_of(struct engine_uplink *uplink, const uint8_t node[HK_NODE_ID_BYTES],
			unsigned *ret_partition, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	unsigned partitions = atomic_load(&uplink->partitions);
	int r = partitions ? 0 : hk_stream_partitions(uplink->engine, &partitions, problem);
	if (r == 0) {
		atomic_store(&uplink->partitions, partitions);
		*ret_partition = hk_subject_partition(node, partitions);
	}
	return r;
}

static int store(struct engine_uplink *uplink, const struct slot *slot, unsigned partition,
		 char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const Hk__Request *request = slot->request;
	char subject[HK_SUBJECT_BYTES], id[HK_SUBJECT_BYTES];
	struct hk_engine_message message = {
	    .subject = subject, .id = id, .bytes = slot->bytes, .size = slot->size};
	if (request->what_case == HK__REQUEST__WHAT_CHUNK) {
		const Hk__ChunkPut *put = request->chunk;
		message.number = put->number;
		hk_subject_chunk(partition, slot->node, put->process.data, subject);
		hk_subject_chunk_id(put->process.data, put->number, id);
	} else if (request->what_case == HK__REQUEST__WHAT_STACKS_PUT) {
		hk_subject_stacks(partition, slot->node, subject);
		hk_subject_stacks_id(slot->node, request->stacks_put->number, id);
	} else {
		hk_subject_report(partition, slot->node, subject);
		hk_subject_report_id(slot->node, request->report->epoch, request->report->number,
				     id);
	}
	return hk_engine_store(uplink->engine, &message, problem);
}

/* Stores what SLOT has, and makes the answer. Returns 0 or -errno. */
static int exchange(struct engine_uplink *uplink, struct slot *slot,
		    char problem[HK_ENGINE_PROBLEM_BYTES])
{
	struct asked asked = {.uplink = uplink, .slot = slot, .problem = problem};
	int r = partition_of(uplink, slot->node, &asked.partition, problem);
	/* That a leaf without jobs lives is nothing to be kept for days. */
	bool empty = slot->request->what_case == HK__REQUEST__WHAT_REPORT &&
		     slot->request->report->n_jobs == 0;
	r = r < 0 || empty ? r : store(uplink, slot, asked.partition, problem);
	const struct hk_stored_engine engine = {last_of, answer_of, &asked};
	return r < 0 ? r : hk_stored_reply(slot->request, &engine, &slot->response);
}

/* The same, again and again for a while: an engine without a leader stores nothing. */
static int exchange_patiently(struct engine_uplink *uplink, struct slot *slot,
			      char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct timespec pause = {.tv_nsec = RETRY_NS};
	int r = exchange(uplink, slot, problem);
	while (r == -EAGAIN && hk_clock_monotonic_ns() - slot->sent_ns < PATIENCE_NS &&
	       !is_given_up(uplink, slot)) {
		nanosleep(&pause, NULL);
		r = exchange(uplink, slot, problem);
	}
	return r;
}

static void empty(struct slot *slot)
{
	if (slot->request) {
		hk__request__free_unpacked(slot->request, NULL);
	}
	free(slot->bytes);
	slot->request = NULL;
	slot->bytes = NULL;
}

static void clear(struct slot *slot)
{
	if (slot->response) {
		hk__response__free_unpacked(slot->response, NULL);
		slot->response = NULL;
	}
	slot->dropped = false;
	slot->state = SLOT_FREE;
}

static void finish(struct engine_uplink *uplink, struct slot *slot, int error, const char *problem)
{
	slot->received_ns = hk_clock_monotonic_ns();
	pthread_mutex_lock(&uplink->lock);
	empty(slot);
	if (slot->dropped) {
		clear(slot);
	} else {
		slot->state = SLOT_DONE;
		if (error < 0 && !uplink->failed) {
			uplink->failed = true;
			snprintf(uplink->why, sizeof(uplink->why), "%s",
				 *problem ? problem : strerror(-error));
		}
	}
	pthread_cond_broadcast(&uplink->queued);
	pthread_mutex_unlock(&uplink->lock);
	wake(uplink);
}

static void *work(void *data)
{
	struct engine_uplink *uplink = data;
	struct slot *slot;
	while ((slot = take(uplink)) != NULL) {
		char problem[HK_ENGINE_PROBLEM_BYTES] = "";
		int r = is_given_up(uplink, slot) ? -ECANCELED
						  : exchange_patiently(uplink, slot, problem);
		finish(uplink, slot, r, problem);
	}
	return NULL;
}

/* ---- the link ---- */

static int uplink_fd(const struct hk_uplink *base)
{
	return of_const(base)->event_fd;
}

static bool uplink_connected(const struct hk_uplink *base)
{
	const struct engine_uplink *uplink = of_const(base);
	return hk_engine_connected(uplink->engine) && uplink->retry_ns == 0;
}

static bool uplink_replied(const struct hk_uplink *base)
{
	return of_const(base)->answers > 0;
}

static const char *uplink_problem(const struct hk_uplink *base)
{
	return of_const(base)->problem;
}

static uint64_t uplink_generation(const struct hk_uplink *base)
{
	return of_const(base)->generation;
}

static uint64_t uplink_due(const struct hk_uplink *base)
{
	const struct engine_uplink *uplink = of_const(base);
	return uplink->retry_ns ? uplink->retry_ns : UINT64_MAX;
}

/* Says once what is wrong, until something is stored again. */
static void tell_problem(struct engine_uplink *uplink)
{
	if (!uplink->told && *uplink->problem) {
		hk_warning("the engine stores nothing url=%s why=%s; what is kept here waits",
			   uplink->url, uplink->problem);
		uplink->told = true;
	}
}

/* Drops all exchanges, and starts again after a pause. */
static void give_up(struct engine_uplink *uplink, uint64_t now_ns, const char *why)
{
	pthread_mutex_lock(&uplink->lock);
	for (unsigned i = 0; i < HK_UPLINK_SLOTS; i++) {
		struct slot *slot = &uplink->slots[i];
		if (slot->state == SLOT_BUSY) {
			slot->dropped = true;
		} else if (slot->state != SLOT_FREE) {
			empty(slot);
			clear(slot);
		}
	}
	uplink->failed = false;
	pthread_mutex_unlock(&uplink->lock);
	/* The stream may be another one when it is back. */
	atomic_store(&uplink->partitions, 0);
	snprintf(uplink->problem, sizeof(uplink->problem), "%s", why);
	uplink->generation++;
	uplink->answers = 0;
	uplink->retry_ns = now_ns + PAUSE_NS;
	tell_problem(uplink);
}

static void uplink_tend(struct hk_uplink *base, uint64_t now_ns)
{
	struct engine_uplink *uplink = of(base);
	char why[HK_ENGINE_PROBLEM_BYTES];
	uint64_t count;
	(void)!read(uplink->event_fd, &count, sizeof(count));
	pthread_mutex_lock(&uplink->lock);
	bool failed = uplink->failed;
	memcpy(why, uplink->why, sizeof(why));
	pthread_mutex_unlock(&uplink->lock);
	if (failed) {
		give_up(uplink, now_ns, why);
	} else if (uplink->retry_ns && now_ns >= uplink->retry_ns) {
		uplink->retry_ns = 0;
	}
	if (!hk_engine_connected(uplink->engine)) {
		hk_engine_problem(uplink->engine, uplink->problem);
		tell_problem(uplink);
	}
}

static void uplink_refused(struct hk_uplink *base, uint64_t now_ns, const char *text)
{
	give_up(of(base), now_ns, text);
}

static void uplink_senseless(struct hk_uplink *base, uint64_t now_ns)
{
	give_up(of(base), now_ns, "an answer makes no sense");
}

/* Copies REQUEST into SLOT, as bytes and as a message of its own. Returns 0 or -errno. */
static int fill(struct slot *slot, const Hk__Request *request)
{
	ProtobufCMessage *copy = NULL;
	slot->size = protobuf_c_message_get_packed_size(&request->base);
	if (slot->size > HK_MESSAGE_BYTES_MAX) {
		return -EMSGSIZE;
	}
	slot->bytes = malloc(slot->size + 1);
	if (!slot->bytes) {
		return -ENOMEM;
	}
	protobuf_c_message_pack(&request->base, slot->bytes);
	int r = hk_message_unpack(&hk__request__descriptor, slot->bytes, slot->size, &copy);
	slot->request = (Hk__Request *)copy;
	if (r < 0) {
		empty(slot);
	}
	return r;
}

static struct slot *free_slot(struct engine_uplink *uplink)
{
	for (unsigned i = 0; i < HK_UPLINK_SLOTS; i++) {
		if (uplink->slots[i].state == SLOT_FREE) {
			return &uplink->slots[i];
		}
	}
	return NULL;
}

static int uplink_send(struct hk_uplink *base, const Hk__Request *request)
{
	struct engine_uplink *uplink = of(base);
	if (!uplink_connected(base)) {
		return -EAGAIN;
	}
	if (request->what_case == HK__REQUEST__WHAT_REPORT &&
	    request->report->node->id.len == HK_NODE_ID_BYTES) {
		memcpy(uplink->node, request->report->node->id.data, HK_NODE_ID_BYTES);
	} else if (request->what_case != HK__REQUEST__WHAT_CHUNK &&
		   request->what_case != HK__REQUEST__WHAT_STACKS_PUT) {
		return -EOPNOTSUPP;
	}
	pthread_mutex_lock(&uplink->lock);
	struct slot *slot = free_slot(uplink);
	pthread_mutex_unlock(&uplink->lock);
	int r = slot ? fill(slot, request) : -EAGAIN;
	if (r < 0) {
		return r;
	}
	memcpy(slot->node, uplink->node, HK_NODE_ID_BYTES);
	slot->sent_ns = hk_clock_monotonic_ns();
	pthread_mutex_lock(&uplink->lock);
	slot->order = ++uplink->order;
	slot->state = SLOT_QUEUED;
	pthread_cond_signal(&uplink->queued);
	pthread_mutex_unlock(&uplink->lock);
	return (int)(slot - uplink->slots);
}

static int uplink_next(struct hk_uplink *base, struct hk_uplink_reply *ret_reply)
{
	struct engine_uplink *uplink = of(base);
	int taken = 0;
	pthread_mutex_lock(&uplink->lock);
	for (unsigned i = 0; !taken && !uplink->failed && i < HK_UPLINK_SLOTS; i++) {
		struct slot *slot = &uplink->slots[i];
		if (slot->state == SLOT_DONE) {
			*ret_reply = (struct hk_uplink_reply){.slot = i,
							      .response = slot->response,
							      .sent_ns = slot->sent_ns,
							      .received_ns = slot->received_ns};
			slot->response = NULL;
			clear(slot);
			taken = 1;
		}
	}
	pthread_mutex_unlock(&uplink->lock);
	if (taken) {
		if (uplink->answers++ == 0) {
			hk_info("connected to the engine url=%s", uplink->url);
			uplink->told = false;
			*uplink->problem = '\0';
		}
	}
	return taken;
}

static void uplink_free(struct hk_uplink *base)
{
	struct engine_uplink *uplink = of(base);
	pthread_mutex_lock(&uplink->lock);
	uplink->ending = true;
	pthread_cond_broadcast(&uplink->queued);
	pthread_mutex_unlock(&uplink->lock);
	for (unsigned i = 0; i < uplink->worker_count; i++) {
		pthread_join(uplink->workers[i], NULL);
	}
	hk_engine_free(uplink->engine);
	for (unsigned i = 0; i < HK_UPLINK_SLOTS; i++) {
		empty(&uplink->slots[i]);
		clear(&uplink->slots[i]);
	}
	if (uplink->event_fd >= 0) {
		close(uplink->event_fd);
	}
	pthread_cond_destroy(&uplink->queued);
	pthread_mutex_destroy(&uplink->lock);
	free(uplink);
}

static const struct hk_uplink_kind kind = {
    .free = uplink_free,
    .fd = uplink_fd,
    .tend = uplink_tend,
    .due = uplink_due,
    .connected = uplink_connected,
    .replied = uplink_replied,
    .problem = uplink_problem,
    .generation = uplink_generation,
    .send = uplink_send,
    .next = uplink_next,
    .refused = uplink_refused,
    .senseless = uplink_senseless,
};

static int start_workers(struct engine_uplink *uplink)
{
	int r = 0;
	while (r == 0 && uplink->worker_count < WORKERS) {
		r = -pthread_create(&uplink->workers[uplink->worker_count], NULL, work, uplink);
		uplink->worker_count += r == 0;
	}
	return r;
}

int hk_uplink_engine_open(const char *url, const struct hk_access *access,
			  struct hk_uplink **ret_uplink, char problem[HK_ACCESS_PROBLEM_BYTES])
{
	struct engine_uplink *uplink = calloc(1, sizeof(*uplink));
	if (!uplink) {
		return -ENOMEM;
	}
	uplink->base.kind = &kind;
	uplink->url = url;
	pthread_mutex_init(&uplink->lock, NULL);
	pthread_cond_init(&uplink->queued, NULL);
	uplink->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = uplink->event_fd < 0
		    ? -errno
		    : hk_engine_open(url, access, wake, uplink, &uplink->engine, problem);
	r = r < 0 ? r : start_workers(uplink);
	if (r < 0) {
		uplink_free(&uplink->base);
		return r;
	}
	*ret_uplink = &uplink->base;
	return 0;
}
