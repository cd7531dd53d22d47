#include "collector/engine/connection.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collector/engine/handle.h"
#include "collector/engine/subject.h"

#define CONNECT_MS 5000
#define RECONNECT_MS 250
#define STORE_MS 2000
#define FOREVER (-1)
#define SECRET_BYTES 512
#define CREDENTIALS "-----BEGIN"
#define GRACE_NS UINT64_C(10000000000) /* longer than any call */
#define HEADER_BYTES 1024u	       /* of a message, at most; they count as its bytes */

struct hk_engine {
	const struct hk_nats *nats;
	natsOptions *options;
	natsConnection *connection;
	jsCtx *stream;
	void (*wake)(void *context);
	void *context;
	pthread_t thread;
	bool begun;
	_Atomic bool connected;
	pthread_mutex_t lock; /* of the rest, and of setting `stream` and `connected` */
	pthread_cond_t noted;
	bool ended;  /* libnats has given the connection up, and calls nothing here any more */
	bool ending; /* so does the caller */
	char problem[HK_ENGINE_PROBLEM_BYTES];
};

/* ---- on threads of libnats ---- */

/* The lock is held. */
static void set(struct hk_engine *engine, bool up, const char *problem)
{
	snprintf(engine->problem, sizeof(engine->problem), "%s", problem);
	atomic_store(&engine->connected, up && engine->stream);
	pthread_cond_broadcast(&engine->noted);
}

static void tell(const struct hk_engine *engine)
{
	if (engine->wake) {
		engine->wake(engine->context);
	}
}

static void note(struct hk_engine *engine, bool up, const char *problem)
{
	pthread_mutex_lock(&engine->lock);
	set(engine, up, problem);
	pthread_mutex_unlock(&engine->lock);
	tell(engine);
}

static void came(natsConnection *connection, void *context)
{
	(void)connection;
	note(context, true, "");
}

static void went(natsConnection *connection, void *context)
{
	const char *problem = NULL;
	struct hk_engine *engine = context;
	engine->nats->natsConnection_GetLastError(connection, &problem);
	note(engine, false, problem && *problem ? problem : "the connection is lost");
}

/* Comes after all other calls. */
static void ended(natsConnection *connection, void *context)
{
	struct hk_engine *engine = context;
	(void)connection;
	pthread_mutex_lock(&engine->lock);
	set(engine, false, "no server there, or none that takes these credentials");
	engine->ended = true;
	pthread_mutex_unlock(&engine->lock);
}

/* ---- connecting ---- */

/* The stream is made at once, and used when a connection comes, now or later. */
static void connect_once(struct hk_engine *engine)
{
	const struct hk_nats *nats = engine->nats;
	jsCtx *stream = NULL;
	jsOptions options;
	natsStatus status = nats->natsConnection_Connect(&engine->connection, engine->options);
	const char *problem = status == NATS_OK ? "" : nats->natsStatus_GetText(status);
	nats->jsOptions_Init(&options);
	options.Wait = STORE_MS;
	if (engine->connection) {
		status = nats->natsConnection_JetStream(&stream, engine->connection, &options);
		problem = status == NATS_OK ? problem : nats->natsStatus_GetText(status);
	}
	/* What libnats tells of a change waits for the lock, and so comes behind this. */
	pthread_mutex_lock(&engine->lock);
	engine->stream = stream;
	bool up =
	    stream && nats->natsConnection_Status(engine->connection) == NATS_CONN_STATUS_CONNECTED;
	engine->ended |= !engine->connection;
	if (!engine->ended) {
		set(engine, up, up ? "" : problem);
	}
	pthread_mutex_unlock(&engine->lock);
	tell(engine);
}

/* Waits until libnats has given the connection up, and for GRACE_NS longer: until then other
 * threads may be in a call. Returns false when the caller has ended. */
static bool await_end(struct hk_engine *engine)
{
	pthread_mutex_lock(&engine->lock);
	while (!engine->ended && !engine->ending) {
		pthread_cond_wait(&engine->noted, &engine->lock);
	}
	const uint64_t until = hk_clock_monotonic_ns() + GRACE_NS;
	const struct timespec at = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
	int r = 0;
	while (r == 0 && !engine->ending) {
		r = pthread_cond_timedwait(&engine->noted, &engine->lock, &at);
	}
	bool goes_on = !engine->ending;
	pthread_mutex_unlock(&engine->lock);
	return goes_on;
}

static void drop(struct hk_engine *engine)
{
	pthread_mutex_lock(&engine->lock);
	jsCtx *stream = engine->stream;
	natsConnection *connection = engine->connection;
	engine->stream = NULL;
	engine->connection = NULL;
	engine->ended = false;
	pthread_mutex_unlock(&engine->lock);
	if (stream) {
		engine->nats->jsCtx_Destroy(stream);
	}
	engine->nats->natsConnection_Destroy(connection);
}

/* libnats connects again by itself, but not to a server that has refused the credentials twice. */
static void *keep_connected(void *data)
{
	struct hk_engine *engine = data;
	connect_once(engine);
	while (await_end(engine)) {
		drop(engine);
		connect_once(engine);
	}
	return NULL;
}

/* Sets the servers of URL, a list with one scheme in front of it. */
static natsStatus set_servers(struct hk_engine *engine, const char *url)
{
	const char *servers[16];
	char *copy = strdup(url), *rest = NULL;
	int count = 0;
	bool tls = strncmp(url, "tls+", 4) == 0;
	natsStatus status = copy ? NATS_OK : NATS_NO_MEMORY;
	for (char *server = copy ? strtok_r(tls ? copy + 4 : copy, ",", &rest) : NULL;
	     server && count < 16; server = strtok_r(NULL, ",", &rest)) {
		servers[count++] = server;
	}
	if (status == NATS_OK) {
		status = engine->nats->natsOptions_SetServers(engine->options, servers, count);
	}
	if (status == NATS_OK && tls) {
		status = engine->nats->natsOptions_SetSecure(engine->options, true);
	}
	free(copy);
	return status;
}

/* Takes the first line of a file: "user:password", or a token; or a file of credentials. */
static natsStatus set_secret(struct hk_engine *engine, const char *path)
{
	const struct hk_nats *nats = engine->nats;
	char line[SECRET_BYTES] = "";
	FILE *file = fopen(path, "re");
	if (!file) {
		return NATS_ERR;
	}
	(void)!fgets(line, sizeof(line), file);
	fclose(file);
	line[strcspn(line, "\r\n")] = '\0';
	char *colon = strchr(line, ':');
	natsStatus status;
	if (strncmp(line, CREDENTIALS, strlen(CREDENTIALS)) == 0) {
		status = nats->natsOptions_SetUserCredentialsFromFiles(engine->options, path, NULL);
	} else if (colon) {
		*colon = '\0';
		status = nats->natsOptions_SetUserInfo(engine->options, line, colon + 1);
	} else {
		status = nats->natsOptions_SetToken(engine->options, line);
	}
	explicit_bzero(line, sizeof(line));
	return status;
}

static natsStatus set_access(struct hk_engine *engine, const struct hk_access *access)
{
	const struct hk_nats *nats = engine->nats;
	natsStatus status = NATS_OK;
	if (access->token_file) {
		status = set_secret(engine, access->token_file);
	}
	if (status == NATS_OK && access->authorities) {
		status = nats->natsOptions_LoadCATrustedCertificates(engine->options,
								     access->authorities);
	}
	if (status == NATS_OK && access->certificate) {
		status = nats->natsOptions_LoadCertificatesChain(engine->options,
								 access->certificate, access->key);
	}
	return status;
}

static natsStatus set_up(struct hk_engine *engine, const char *url, const struct hk_access *access)
{
	const struct hk_nats *nats = engine->nats;
	natsStatus status = nats->natsOptions_Create(&engine->options);
	status = status == NATS_OK ? set_servers(engine, url) : status;
	status = status == NATS_OK ? set_access(engine, access) : status;
	if (status == NATS_OK) {
		nats->natsOptions_SetName(engine->options, "hooktrace");
		nats->natsOptions_SetTimeout(engine->options, CONNECT_MS);
		nats->natsOptions_SetMaxReconnect(engine->options, FOREVER);
		nats->natsOptions_SetReconnectWait(engine->options, RECONNECT_MS);
		nats->natsOptions_SetRetryOnFailedConnect(engine->options, true, came, engine);
		nats->natsOptions_SetDisconnectedCB(engine->options, went, engine);
		nats->natsOptions_SetReconnectedCB(engine->options, came, engine);
		status = nats->natsOptions_SetClosedCB(engine->options, ended, engine);
	}
	return status;
}

int hk_engine_open(const char *url, const struct hk_access *access, void (*wake)(void *context),
		   void *context, struct hk_engine **ret_engine,
		   char problem[HK_ACCESS_PROBLEM_BYTES])
{
	const char *why = "";
	if (strchr(url, '@')) {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES,
			 "no password belongs into a URL, which ps shows: --credentials names "
			 "a file with user:password, a token or credentials");
		return -EINVAL;
	}
	const struct hk_nats *nats = hk_nats_open(&why);
	if (!nats) {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES, "%s", why);
		return -ENOSYS;
	}
	struct hk_engine *engine = calloc(1, sizeof(*engine));
	if (!engine) {
		return -ENOMEM;
	}
	engine->nats = nats;
	engine->wake = wake;
	engine->context = context;
	pthread_mutex_init(&engine->lock, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&engine->noted, &monotonic);
	pthread_condattr_destroy(&monotonic);
	natsStatus status = set_up(engine, url, access);
	int r = status == NATS_OK ? -pthread_create(&engine->thread, NULL, keep_connected, engine)
				  : -EINVAL;
	if (r < 0) {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES, "%s", nats->natsStatus_GetText(status));
		hk_engine_free(engine);
		return r;
	}
	engine->begun = true;
	*ret_engine = engine;
	return 0;
}

/* Closes, and waits until threads of libnats have no more to tell of it. */
static void close_connection(struct hk_engine *engine)
{
	engine->nats->natsConnection_Close(engine->connection);
	pthread_mutex_lock(&engine->lock);
	while (!engine->ended) {
		pthread_cond_wait(&engine->noted, &engine->lock);
	}
	pthread_mutex_unlock(&engine->lock);
	engine->nats->natsConnection_Destroy(engine->connection);
}

struct hk_engine *hk_engine_free(struct hk_engine *engine)
{
	if (!engine) {
		return NULL;
	}
	if (engine->begun) {
		pthread_mutex_lock(&engine->lock);
		engine->ending = true;
		pthread_cond_broadcast(&engine->noted);
		pthread_mutex_unlock(&engine->lock);
		pthread_join(engine->thread, NULL);
	}
	if (engine->stream) {
		engine->nats->jsCtx_Destroy(engine->stream);
	}
	if (engine->connection) {
		close_connection(engine);
	}
	engine->nats->natsOptions_Destroy(engine->options);
	pthread_cond_destroy(&engine->noted);
	pthread_mutex_destroy(&engine->lock);
	free(engine);
	return NULL;
}

bool hk_engine_connected(const struct hk_engine *engine)
{
	return atomic_load(&engine->connected);
}

bool hk_engine_await(struct hk_engine *engine, uint32_t wait_ms)
{
	const uint64_t until = hk_clock_monotonic_ns() + (uint64_t)wait_ms * 1000000u;
	const struct timespec at = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
	int r = 0;
	pthread_mutex_lock(&engine->lock);
	while (r == 0 && !hk_engine_connected(engine)) {
		r = pthread_cond_timedwait(&engine->noted, &engine->lock, &at);
	}
	pthread_mutex_unlock(&engine->lock);
	return hk_engine_connected(engine);
}

const struct hk_nats *hk_engine_nats(const struct hk_engine *engine)
{
	return engine->nats;
}

natsConnection *hk_engine_connection(const struct hk_engine *engine)
{
	return engine->connection;
}

jsCtx *hk_engine_stream(const struct hk_engine *engine)
{
	return engine->stream;
}

void hk_engine_problem(struct hk_engine *engine, char problem[HK_ENGINE_PROBLEM_BYTES])
{
	pthread_mutex_lock(&engine->lock);
	memcpy(problem, engine->problem, HK_ENGINE_PROBLEM_BYTES);
	pthread_mutex_unlock(&engine->lock);
}

/* ---- messages ---- */

static int error_of(natsStatus status, jsErrCode code)
{
	switch (code) {
	case JSStreamNotFoundErr:
		return -ENOENT;
	case JSStreamMessageExceedsMaximumErr:
		return -EMSGSIZE;
	case JSStreamStoreFailedErr:
	case JSAccountResourcesExceededErr:
	case JSInsufficientResourcesErr:
		return -ENOSPC;
	default:
		break;
	}
	return status == NATS_NO_RESPONDERS ? -ENOENT
	       : status == NATS_MAX_PAYLOAD ? -EMSGSIZE
	       : status == NATS_NO_MEMORY   ? -ENOMEM
					    : -EAGAIN;
}

int hk_engine_failed(const struct hk_engine *engine, natsStatus status, jsErrCode code,
		     char *problem)
{
	natsStatus last;
	const char *why = engine->nats->nats_GetLastError(&last);
	int error = error_of(status, code);
	snprintf(problem, HK_ENGINE_PROBLEM_BYTES, "%s%s%s%s",
		 error == -ENOSPC ? "the stream is full, and hookcollector stream setup --keep "
				    "raises its limit: "
				  : "",
		 engine->nats->natsStatus_GetText(status), why && *why ? ": " : "", why ? why : "");
	return error;
}

/* A message as it is published. */
struct published {
	const char *subject, *id;
	uint64_t number;      /* 0: none */
	unsigned part, parts; /* from 1; 1 of 1: the whole */
	uint64_t attempt;
	const void *bytes;
	size_t size;
};

static natsStatus set_headers(const struct hk_nats *nats, natsMsg *sent,
			      const struct published *message)
{
	char text[48];
	natsStatus status = NATS_OK;
	if (message->number) {
		snprintf(text, sizeof(text), "%" PRIu64, message->number);
		status = nats->natsMsgHeader_Set(sent, HK_SUBJECT_NUMBER, text);
	}
	if (status == NATS_OK && message->parts > 1) {
		snprintf(text, sizeof(text), "%u/%u %" PRIu64, message->part, message->parts,
			 message->attempt);
		status = nats->natsMsgHeader_Set(sent, HK_SUBJECT_PART, text);
	}
	return status;
}

static int publish(struct hk_engine *engine, const struct published *message,
		   char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct hk_nats *nats = engine->nats;
	jsPubOptions options;
	jsErrCode code = 0;
	natsMsg *sent = NULL;
	natsStatus status =
	    nats->natsMsg_Create(&sent, message->subject, NULL, message->bytes, (int)message->size);
	status = status == NATS_OK ? set_headers(nats, sent, message) : status;
	nats->jsPubOptions_Init(&options);
	options.MsgId = message->id;
	options.ExpectStream = HK_SUBJECT_STREAM;
	options.MaxWait = STORE_MS;
	if (status == NATS_OK) {
		status = nats->js_PublishMsg(NULL, engine->stream, sent, &options, &code);
	}
	nats->natsMsg_Destroy(sent);
	return status == NATS_OK ? 0 : hk_engine_failed(engine, status, code, problem);
}

int hk_engine_store(struct hk_engine *engine, const struct hk_engine_message *message,
		    char problem[HK_ENGINE_PROBLEM_BYTES])
{
	char id[HK_SUBJECT_BYTES + 40];
	/* The parts of one attempt are taken together, whatever the engine has of others. */
	uint64_t attempt = hk_clock_monotonic_ns();
	if (!hk_engine_connected(engine)) {
		return -EAGAIN;
	}
	int64_t most = engine->nats->natsConnection_GetMaxPayload(engine->connection);
	if (most <= (int64_t)HEADER_BYTES) {
		return -EMSGSIZE;
	}
	size_t each = (size_t)most - HEADER_BYTES;
	unsigned parts = message->size == 0 ? 1 : (unsigned)((message->size + each - 1) / each);
	int r = 0;
	for (unsigned part = 1; r == 0 && part <= parts; part++) {
		size_t at = (part - 1) * each, left = message->size - at;
		struct published one = {
		    .subject = message->subject,
		    .id = message->id,
		    .number = message->number,
		    .part = part,
		    .parts = parts,
		    .attempt = attempt,
		    .bytes = (const char *)message->bytes + at,
		    .size = left < each ? left : each,
		};
		if (parts > 1) {
			snprintf(id, sizeof(id), "%s.%" PRIu64 ".%u", message->id, attempt, part);
			one.id = id;
		}
		/* A chunk that is not complete is none: the newest one is the one before it. */
		one.number -= one.number && part < parts;
		r = publish(engine, &one, problem);
	}
	return r;
}

int hk_engine_last(struct hk_engine *engine, const char *subject, uint64_t *ret_number,
		   char problem[HK_ENGINE_PROBLEM_BYTES])
{
	const struct hk_nats *nats = engine->nats;
	jsErrCode code = 0;
	natsMsg *last = NULL;
	const char *number = NULL;
	*ret_number = 0;
	if (!hk_engine_connected(engine)) {
		return -EAGAIN;
	}
	natsStatus status =
	    nats->js_GetLastMsg(&last, engine->stream, HK_SUBJECT_STREAM, subject, NULL, &code);
	if (status == NATS_NOT_FOUND && code != JSStreamNotFoundErr) {
		return 0;
	}
	if (status != NATS_OK) {
		return hk_engine_failed(engine, status, code, problem);
	}
	if (nats->natsMsgHeader_Get(last, HK_SUBJECT_NUMBER, &number) == NATS_OK) {
		*ret_number = strtoull(number, NULL, 10);
	}
	nats->natsMsg_Destroy(last);
	return 0;
}
