/* engine_peer: what a stream engine does without hooktrace, and what it has.
 *
 *   engine_peer publish URL SUBJECT BYTES COUNT THREADS
 *   engine_peer stored URL STREAM SUBJECTS HEADER AFTER
 *
 * `publish` stores COUNT messages of BYTES, each with an id; every one of THREADS waits until the
 * engine has stored its message. `stored` looks at the messages behind number AFTER of SUBJECTS
 * that have HEADER. Each prints one line of JSON; the seconds of the latter are those from the
 * first to the last message, by the engine's clock. */
#include <inttypes.h>
#include <nats/nats.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_THREADS 64

struct publisher {
	jsCtx *engine;
	const char *subject;
	char *bytes;
	int size;
	long count;
	uint64_t run; /* makes ids new */
	_Atomic long next;
};

static void need(natsStatus status, const char *what)
{
	if (status != NATS_OK) {
		fprintf(stderr, "engine_peer: %s: %s\n", what, natsStatus_GetText(status));
		exit(1);
	}
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static long number(const char *text, long most)
{
	char *end;
	long value = strtol(text, &end, 10);
	if (*end || value < 0 || value > most) {
		fprintf(stderr, "engine_peer: '%s' is no such number\n", text);
		exit(2);
	}
	return value;
}

/* ---- publish ---- */

static void *publish(void *data)
{
	struct publisher *publisher = data;
	long at;
	while ((at = atomic_fetch_add(&publisher->next, 1)) < publisher->count) {
		char id[64];
		jsPubOptions options;
		natsMsg *message = NULL;
		snprintf(id, sizeof(id), "%" PRIx64 "-%ld", publisher->run, at);
		jsPubOptions_Init(&options);
		options.MsgId = id;
		need(natsMsg_Create(&message, publisher->subject, NULL, publisher->bytes,
				    publisher->size),
		     "message");
		need(js_PublishMsg(NULL, publisher->engine, message, &options, NULL), "publish");
		natsMsg_Destroy(message);
	}
	return NULL;
}

static void publish_all(jsCtx *engine, char **arguments)
{
	struct publisher publisher = {.engine = engine,
				      .subject = arguments[0],
				      .size = (int)number(arguments[1], 64 << 20),
				      .count = number(arguments[2], 1 << 30),
				      .run = now_ns(CLOCK_REALTIME)};
	long threads = number(arguments[3], MOST_THREADS);
	pthread_t ids[MOST_THREADS];
	publisher.bytes = calloc(1, (size_t)publisher.size + 1);
	uint64_t begun = now_ns(CLOCK_MONOTONIC);
	for (long i = 0; i < threads; i++) {
		if (pthread_create(&ids[i], NULL, publish, &publisher) != 0) {
			need(NATS_NO_MEMORY, "thread");
		}
	}
	for (long i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
	}
	printf("{\"bytes\": %ld, \"seconds\": %.6f}\n", publisher.count * publisher.size,
	       (double)(now_ns(CLOCK_MONOTONIC) - begun) / 1e9);
	free(publisher.bytes);
}

/* ---- stored ---- */

struct found {
	uint64_t messages, bytes, largest;
	int64_t first_ns, last_ns;
};

static void add(struct found *found, natsMsg *message, const char *header)
{
	const char *value;
	uint64_t size = (uint64_t)natsMsg_GetDataLength(message);
	if (natsMsgHeader_Get(message, header, &value) != NATS_OK) {
		return;
	}
	found->first_ns = found->messages ? found->first_ns : natsMsg_GetTime(message);
	found->last_ns = natsMsg_GetTime(message);
	found->messages++;
	found->bytes += size;
	found->largest = size > found->largest ? size : found->largest;
}

static void look(jsCtx *engine, char **arguments)
{
	const char *stream = arguments[0], *header = arguments[2];
	uint64_t after = (uint64_t)number(arguments[3], INT64_MAX);
	struct found found = {0};
	jsStreamInfo *info = NULL;
	need(js_GetStreamInfo(&info, engine, stream, NULL, NULL), stream);
	for (uint64_t at = after + 1; at <= info->State.LastSeq; at++) {
		natsMsg *message = NULL;
		need(js_GetMsg(&message, engine, stream, at, NULL, NULL), "message");
		if (strncmp(natsMsg_GetSubject(message), arguments[1], strlen(arguments[1])) == 0) {
			add(&found, message, header);
		}
		natsMsg_Destroy(message);
	}
	printf("{\"messages\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"largest\": %" PRIu64
	       ", \"seconds\": %.6f, \"last\": %" PRIu64 "}\n",
	       found.messages, found.bytes, found.largest,
	       (double)(found.last_ns - found.first_ns) / 1e9, info->State.LastSeq);
	jsStreamInfo_Destroy(info);
}

int main(int argc, char **argv)
{
	natsConnection *connection = NULL;
	jsCtx *engine = NULL;
	int publishes = argc == 7 && strcmp(argv[1], "publish") == 0;
	if (!publishes && (argc != 7 || strcmp(argv[1], "stored") != 0)) {
		fprintf(stderr, "usage: engine_peer publish|stored URL ...\n");
		return 2;
	}
	need(natsConnection_ConnectTo(&connection, argv[2]), argv[2]);
	need(natsConnection_JetStream(&engine, connection, NULL), argv[2]);
	if (publishes) {
		publish_all(engine, argv + 3);
	} else {
		look(engine, argv + 3);
	}
	jsCtx_Destroy(engine);
	natsConnection_Destroy(connection);
	nats_Close();
	return 0;
}
