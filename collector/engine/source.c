#include "collector/engine/source.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/engine/handle.h"
#include "collector/engine/search.h"
#include "collector/engine/stream.h"
#include "collector/engine/subject.h"

#define BATCH 16
#define FETCH_MS 250
#define PAUSE_NS UINT64_C(250000000)
/* An engine that lost the consumer says nothing. After so long a silence it is asked. */
#define SILENCE_NS UINT64_C(5000000000)
#define BEHIND_NS UINT64_C(60000000000)

struct item {
	natsMsg *message;
	struct hk_source_message view;
	struct item *prev, *next;
};

struct hk_source {
	struct hk_engine *engine;
	const struct hk_nats *nats;
	unsigned partition;
	void (*wake)(void *context);
	void *context;
	pthread_t thread;
	bool begun;
	/* The thread's own. */
	natsSubscription *subscription;
	uint64_t after;	   /* sequence of the last message that came */
	uint64_t counted;  /* by the consumer, up to that message */
	uint64_t heard_ns; /* monotonic */
	int64_t created;   /* of the stream; 0: not known yet */
	uint64_t
	    behind_ns; /* monotonic: since when the stream ends before `after`; 0: it does not */
	/* Guarded by the lock. */
	pthread_mutex_t lock;
	pthread_cond_t room;
	bool ending;
	bool searching; /* for what is missing before the first item, as the next two say */
	char subject[HK_SUBJECT_BYTES];
	uint64_t behind, before, search_ns; /* the last is monotonic: when it began */
	struct item *items;
	size_t bytes;
	char problem[HK_ENGINE_PROBLEM_BYTES];
};

/* ---- on the thread ---- */

static void set_problem(struct hk_source *source, const char *problem)
{
	pthread_mutex_lock(&source->lock);
	snprintf(source->problem, sizeof(source->problem), "%s", problem);
	pthread_mutex_unlock(&source->lock);
}

static bool is_ending(struct hk_source *source)
{
	pthread_mutex_lock(&source->lock);
	bool ending = source->ending;
	pthread_mutex_unlock(&source->lock);
	return ending;
}

/* Waits for PAUSE_NS, or until the end. */
static void wait_a_little(struct hk_source *source)
{
	const uint64_t until = hk_clock_monotonic_ns() + PAUSE_NS;
	const struct timespec at = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
	int r = 0;
	pthread_mutex_lock(&source->lock);
	while (r == 0 && !source->ending) {
		r = pthread_cond_timedwait(&source->room, &source->lock, &at);
	}
	pthread_mutex_unlock(&source->lock);
}

static void unsubscribe(struct hk_source *source)
{
	source->nats->natsSubscription_Destroy(source->subscription);
	source->subscription = NULL;
}

/* The stream ends before the last message that came. A node of the engine that was away answers so
 * until it has caught up. After BEHIND_NS those messages are gone. Returns 0, or -EAGAIN until
 * then.
 */
static int see_loss(struct hk_source *source, uint64_t last, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	uint64_t now_ns = hk_clock_monotonic_ns();
	source->behind_ns = source->behind_ns ? source->behind_ns : now_ns;
	if (now_ns - source->behind_ns < BEHIND_NS) {
		snprintf(problem, HK_ENGINE_PROBLEM_BYTES, "the engine's node is behind");
		return -EAGAIN;
	}
	hk_warning("the stream lost its newest messages partition=%u read=%" PRIu64
		   " newest=%" PRIu64,
		   source->partition, source->after, last);
	source->after = last;
	return 0;
}

/* A stream that was removed and made again counts from 1. What was removed from the front of it
 * before it was read is lost, and said. */
static int check_stream(struct hk_source *source, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	struct hk_stream_state state;
	int r = hk_stream_state(source->engine, &state, problem);
	if (r < 0) {
		return r;
	}
	if (source->created != 0 && state.created != source->created) {
		hk_warning("the stream was made again partition=%u read=%" PRIu64 " newest=%" PRIu64
			   "; it is read from its beginning",
			   source->partition, source->after, state.last);
		source->after = 0;
	} else if (state.last < source->after) {
		r = see_loss(source, state.last, problem);
		if (r < 0) {
			return r;
		}
	}
	source->created = state.created;
	source->behind_ns = 0;
	if (source->after > 0 && state.first > source->after + 1) {
		hk_warning("messages were removed from the stream before they were read "
			   "partition=%u from=%" PRIu64 " to=%" PRIu64,
			   source->partition, source->after + 1, state.first - 1);
	}
	return 0;
}

static int subscribe(struct hk_source *source)
{
	char subject[HK_SUBJECT_BYTES], problem[HK_ENGINE_PROBLEM_BYTES] = "";
	jsSubOptions options;
	jsErrCode code = 0;
	if (!hk_engine_connected(source->engine)) {
		hk_engine_problem(source->engine, problem);
		set_problem(source, problem);
		return -EAGAIN;
	}
	int r = check_stream(source, problem);
	if (r < 0) {
		set_problem(source, problem);
		return r;
	}
	hk_subject_all_of(source->partition, subject);
	source->nats->jsSubOptions_Init(&options);
	options.Stream = HK_SUBJECT_STREAM;
	options.Config.DeliverPolicy = js_DeliverByStartSequence;
	options.Config.OptStartSeq = source->after + 1;
	options.Config.AckPolicy = js_AckNone;
	natsStatus status =
	    source->nats->js_PullSubscribe(&source->subscription, hk_engine_stream(source->engine),
					   subject, NULL, NULL, &options, &code);
	if (status != NATS_OK) {
		r = hk_engine_failed(source->engine, status, code, problem);
		source->subscription = NULL;
		set_problem(source, problem);
		return r;
	}
	source->counted = 0;
	source->heard_ns = hk_clock_monotonic_ns();
	set_problem(source, "");
	return 0;
}

/* Reads "2/3 ATTEMPT" into PART, PARTS and ATTEMPT; 1 of 1 without the header. */
static bool read_part(const struct hk_nats *nats, natsMsg *message, struct hk_source_message *view)
{
	const char *text = NULL;
	char *rest;
	view->part = view->parts = 1;
	view->attempt = 0;
	if (nats->natsMsgHeader_Get(message, HK_SUBJECT_PART, &text) != NATS_OK) {
		return true;
	}
	unsigned long part = strtoul(text, &rest, 10);
	unsigned long parts = *rest == '/' ? strtoul(rest + 1, &rest, 10) : 0;
	view->part = (unsigned)part;
	view->parts = (unsigned)parts;
	view->attempt = *rest == ' ' ? strtoull(rest + 1, &rest, 10) : 0;
	return !*rest && part >= 1 && part <= parts && parts <= UINT16_MAX;
}

/* Makes an item of MESSAGE. Returns NULL without memory. */
static struct item *item_of(const struct hk_source *source, natsMsg *message, uint64_t sequence,
			    uint64_t pending)
{
	const struct hk_nats *nats = source->nats;
	struct item *item = calloc(1, sizeof(*item));
	if (!item) {
		return NULL;
	}
	item->message = message;
	item->view = (struct hk_source_message){
	    .sequence = sequence,
	    .pending = pending,
	    .created = source->created,
	    .subject = nats->natsMsg_GetSubject(message),
	    .bytes = nats->natsMsg_GetData(message),
	    .size = (size_t)nats->natsMsg_GetDataLength(message),
	};
	if (!read_part(nats, message, &item->view)) {
		item->view.size = 0; /* no request: it will be counted as damaged */
		item->view.part = item->view.parts = 1;
	}
	return item;
}

static void free_items(const struct hk_source *source, struct item **items)
{
	struct item *item, *next;
	DL_FOREACH_SAFE(*items, item, next)
	{
		DL_DELETE(*items, item);
		source->nats->natsMsg_Destroy(item->message);
		free(item);
	}
}

/* Adds the messages that the search asks for to FOUND, up to HK_SOURCE_BYTES. Returns 0; 1 if there
 * may be more; or -errno. */
static int find(struct hk_source *source, struct item **found)
{
	char problem[HK_ENGINE_PROBLEM_BYTES] = "";
	uint64_t sequence = source->behind;
	size_t bytes = 0;
	natsMsg *message = NULL;
	int r = 1;
	while (bytes < HK_SOURCE_BYTES && !is_ending(source) &&
	       (r = hk_search_next(source->engine, source->subject, sequence, source->before,
				   &sequence, &message, problem)) > 0) {
		struct item *item = item_of(source, message, sequence, 1);
		if (!item) {
			source->nats->natsMsg_Destroy(message);
			return -ENOMEM;
		}
		item->view.found = true;
		bytes += item->view.size;
		DL_APPEND(*found, item);
	}
	if (r < 0) {
		set_problem(source, problem);
	}
	return r;
}

/* Puts FOUND before the first item, which is done with if SEARCHED. */
static void end_search(struct hk_source *source, struct item *found, bool searched)
{
	struct item *item;
	pthread_mutex_lock(&source->lock);
	source->items->view.searched = searched;
	DL_FOREACH (found, item) {
		source->bytes += item->view.size;
	}
	DL_CONCAT(found, source->items);
	source->items = found;
	source->searching = false;
	source->problem[0] = '\0';
	pthread_mutex_unlock(&source->lock);
	source->wake(source->context);
}

/* Does what hk_source_search has asked for, if it has. What is found comes before the first item,
 * which stays where it is meanwhile. */
static void search(struct hk_source *source)
{
	struct item *found = NULL;
	pthread_mutex_lock(&source->lock);
	bool wanted = source->searching && source->items;
	bool other = wanted && source->items->view.created != source->created;
	pthread_mutex_unlock(&source->lock);
	if (!wanted) {
		return;
	}
	int r = other ? 0 : find(source, &found);
	bool late = hk_clock_monotonic_ns() - source->search_ns > BEHIND_NS;
	if (r < 0) {
		free_items(source, &found);
	}
	if (r < 0 && !late) {
		wait_a_little(source);
		return;
	}
	if (r < 0) {
		hk_warning("the stream cannot be searched partition=%u before=%" PRIu64,
			   source->partition, source->before);
	}
	end_search(source, found, r <= 0);
}

static void append(struct hk_source *source, struct item *item)
{
	pthread_mutex_lock(&source->lock);
	while (!source->ending && source->items &&
	       source->bytes + item->view.size > HK_SOURCE_BYTES) {
		if (source->searching) {
			pthread_mutex_unlock(&source->lock);
			search(source);
			pthread_mutex_lock(&source->lock);
		} else {
			pthread_cond_wait(&source->room, &source->lock);
		}
	}
	DL_APPEND(source->items, item);
	source->bytes += item->view.size;
	pthread_mutex_unlock(&source->lock);
	source->wake(source->context);
}

/* Takes MESSAGE over if it is the next one. Returns whether it was. */
static bool take(struct hk_source *source, natsMsg *message)
{
	const struct hk_nats *nats = source->nats;
	jsMsgMetaData *meta = NULL;
	struct item *item = NULL;
	bool next = nats->natsMsg_GetMetaData(&meta, message) == NATS_OK &&
		    meta->Sequence.Consumer == source->counted + 1 &&
		    meta->Sequence.Stream > source->after;
	if (next) {
		item = item_of(source, message, meta->Sequence.Stream, meta->NumPending);
	}
	if (!item) {
		nats->jsMsgMetaData_Destroy(meta);
		nats->natsMsg_Destroy(message);
		return false;
	}
	source->counted = meta->Sequence.Consumer;
	source->after = meta->Sequence.Stream;
	nats->jsMsgMetaData_Destroy(meta);
	append(source, item);
	return true;
}

/* Returns whether the engine has messages that it does not send. */
static bool is_deaf(struct hk_source *source)
{
	char problem[HK_ENGINE_PROBLEM_BYTES];
	uint64_t behind = 0;
	if (hk_clock_monotonic_ns() - source->heard_ns < SILENCE_NS) {
		return false;
	}
	source->heard_ns = hk_clock_monotonic_ns();
	return hk_stream_behind(source->engine, source->partition, source->after, &behind,
				problem) < 0 ||
	       behind > 0;
}

/* Fetches a batch. Returns false if the subscription is no good any more. */
static bool fetch(struct hk_source *source)
{
	natsMsgList list = {.Count = 0};
	jsErrCode code = 0;
	char problem[HK_ENGINE_PROBLEM_BYTES];
	bool good = true;
	natsStatus status = source->nats->natsSubscription_Fetch(&list, source->subscription, BATCH,
								 FETCH_MS, &code);
	if (status == NATS_TIMEOUT) {
		return !is_deaf(source);
	}
	if (status != NATS_OK) {
		(void)hk_engine_failed(source->engine, status, code, problem);
		set_problem(source, problem);
		return false;
	}
	for (int i = 0; i < list.Count && good; i++) {
		good = take(source, list.Msgs[i]);
		list.Msgs[i] = NULL;
	}
	source->nats->natsMsgList_Destroy(&list);
	source->heard_ns = hk_clock_monotonic_ns();
	return good;
}

static void *run(void *data)
{
	struct hk_source *source = data;
	while (!is_ending(source)) {
		search(source);
		if (!source->subscription && subscribe(source) < 0) {
			wait_a_little(source);
		} else if (!fetch(source)) {
			unsubscribe(source);
			wait_a_little(source);
		}
	}
	unsubscribe(source);
	return NULL;
}

/* ---- for the collector's thread ---- */

int hk_source_open(struct hk_engine *engine, unsigned partition, uint64_t after, int64_t created,
		   void (*wake)(void *context), void *context, struct hk_source **ret_source)
{
	struct hk_source *source = calloc(1, sizeof(*source));
	if (!source) {
		return -ENOMEM;
	}
	source->engine = engine;
	source->nats = hk_engine_nats(engine);
	source->partition = partition;
	source->after = after;
	source->created = created;
	source->wake = wake;
	source->context = context;
	pthread_mutex_init(&source->lock, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&source->room, &monotonic);
	pthread_condattr_destroy(&monotonic);
	int r = -pthread_create(&source->thread, NULL, run, source);
	source->begun = r == 0;
	if (r < 0) {
		hk_source_free(source);
		return r;
	}
	*ret_source = source;
	return 0;
}

struct hk_source *hk_source_free(struct hk_source *source)
{
	if (!source) {
		return NULL;
	}
	pthread_mutex_lock(&source->lock);
	source->ending = true;
	pthread_cond_broadcast(&source->room);
	pthread_mutex_unlock(&source->lock);
	if (source->begun) {
		pthread_join(source->thread, NULL);
	}
	free_items(source, &source->items);
	pthread_cond_destroy(&source->room);
	pthread_mutex_destroy(&source->lock);
	free(source);
	return NULL;
}

bool hk_source_next(struct hk_source *source, struct hk_source_message *ret_message)
{
	pthread_mutex_lock(&source->lock);
	const struct item *item = source->searching ? NULL : source->items;
	if (item) {
		*ret_message = item->view;
	}
	pthread_mutex_unlock(&source->lock);
	return item != NULL;
}

void hk_source_drop(struct hk_source *source)
{
	pthread_mutex_lock(&source->lock);
	struct item *item = source->items;
	if (item) {
		DL_DELETE(source->items, item);
		source->bytes -= item->view.size;
		pthread_cond_broadcast(&source->room);
	}
	pthread_mutex_unlock(&source->lock);
	if (item) {
		source->nats->natsMsg_Destroy(item->message);
		free(item);
	}
}

void hk_source_search(struct hk_source *source, const char *subject, uint64_t behind,
		      uint64_t before)
{
	pthread_mutex_lock(&source->lock);
	snprintf(source->subject, sizeof(source->subject), "%s", subject);
	source->behind = behind;
	source->before = before;
	source->search_ns = hk_clock_monotonic_ns();
	source->searching = source->items != NULL;
	pthread_cond_broadcast(&source->room);
	pthread_mutex_unlock(&source->lock);
}

void hk_source_problem(struct hk_source *source, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	pthread_mutex_lock(&source->lock);
	memcpy(problem, source->problem, HK_ENGINE_PROBLEM_BYTES);
	pthread_mutex_unlock(&source->lock);
}
