#include "collector/clock/prober.h"

#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collector/clock/estimator.h"
#include "wire/dial.h"
#include "wire/message.h"
#include "wire/nng_error.h"
#include "wire/request.h"

#define MS_NS 1000000u
#define SECOND_NS UINT64_C(1000000000)
#define PATIENCE_MS 2000
#define LOST_WAIT_MS 200      /* after a probe without an answer */
#define REFUSED_WAIT_MS 10000 /* after a probe that the root refuses */
#define RECONNECT_MS 100
#define RECONNECT_MAX_MS 1000
#define ANSWER_MAX 65536u

#define NEWS_FIRST_NS (SECOND_NS / 2)
#define NEWS_NS (5 * SECOND_NS)
#define FIRST_NS (10 * SECOND_NS)

/* The pacer, a thread of the prober, sends a probe. Its answer arrives on a thread of NNG. Each
 * owns the fields while it is active. */
struct hk_prober {
	nng_socket socket;
	nng_ctx ctx;
	nng_aio *aio;
	bool asking; /* a probe is being sent; else its answer is awaited */
	uint64_t sent_ns;
	uint8_t *question; /* packed request */
	size_t question_bytes;
	pthread_t pacer;
	bool paced;	      /* the pacer's thread was made */
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t turn;
	bool resting, stopping;
	uint64_t due_ns; /* monotonic; end of the pacer's rest */
	struct hk_estimator *estimator;
	uint64_t first_ns, published_ns; /* monotonic; first answer, and last map handed out */
	bool fresh;			 /* an answer came after the last map */
};

/* Lets the pacer send the next probe in MS ms. NNG's own sleep has a resolution of only 1 ms. */
static void rest(struct hk_prober *prober, unsigned ms)
{
	pthread_mutex_lock(&prober->lock);
	prober->due_ns = hk_clock_monotonic_ns() + (uint64_t)ms * MS_NS;
	prober->resting = true;
	pthread_cond_signal(&prober->turn);
	pthread_mutex_unlock(&prober->lock);
}

/* ---- the pacer ---- */

static void ask(struct hk_prober *prober)
{
	nng_msg *message;
	if (nng_msg_alloc(&message, 0) != 0) {
		rest(prober, LOST_WAIT_MS);
		return;
	}
	if (nng_msg_append(message, prober->question, prober->question_bytes) != 0) {
		nng_msg_free(message);
		rest(prober, LOST_WAIT_MS);
		return;
	}
	prober->asking = true;
	nng_aio_set_msg(prober->aio, message);
	nng_aio_set_timeout(prober->aio, PATIENCE_MS);
	prober->sent_ns = hk_clock_monotonic_ns();
	nng_ctx_send(prober->ctx, prober->aio);
}

/* Waits for the end of a rest. Returns false if no further probes are wanted. */
static bool wait_turn(struct hk_prober *prober)
{
	pthread_mutex_lock(&prober->lock);
	while (!prober->stopping &&
	       (!prober->resting || hk_clock_monotonic_ns() < prober->due_ns)) {
		const struct timespec due = {.tv_sec = (time_t)(prober->due_ns / SECOND_NS),
					     .tv_nsec = (long)(prober->due_ns % SECOND_NS)};
		if (prober->resting) {
			pthread_cond_timedwait(&prober->turn, &prober->lock, &due);
		} else {
			pthread_cond_wait(&prober->turn, &prober->lock);
		}
	}
	prober->resting = false;
	bool goes_on = !prober->stopping;
	pthread_mutex_unlock(&prober->lock);
	return goes_on;
}

static void *pace(void *data)
{
	struct hk_prober *prober = data;
	while (wait_turn(prober)) {
		ask(prober);
	}
	return NULL;
}

/* ---- on NNG's threads ---- */

/* Takes the answer to a probe. Returns the ms to wait until the next probe. */
static unsigned take(struct hk_prober *prober, const Hk__Response *response, uint64_t returned_ns)
{
	const Hk__ClockReply *reply = response->clock;
	if (response->error != 0 || !reply || reply->boot.len != HK_CLOCK_BOOT_BYTES) {
		return REFUSED_WAIT_MS;
	}
	const struct hk_clock_trip trip = {
	    .sent_ns = prober->sent_ns,
	    .received_ns = reply->received_ns,
	    .answered_ns = reply->sent_ns,
	    .returned_ns = returned_ns,
	};
	pthread_mutex_lock(&prober->lock);
	hk_estimator_add(prober->estimator, &trip, reply->boot.data);
	uint64_t period_ns = hk_estimator_period_ns(prober->estimator);
	prober->first_ns = prober->first_ns ? prober->first_ns : returned_ns;
	prober->fresh = true;
	pthread_mutex_unlock(&prober->lock);
	return (unsigned)(period_ns / MS_NS);
}

static unsigned hear(struct hk_prober *prober, uint64_t returned_ns)
{
	nng_msg *message = nng_aio_get_msg(prober->aio);
	ProtobufCMessage *response;
	int r = hk_message_unpack(&hk__response__descriptor, nng_msg_body(message),
				  nng_msg_len(message), &response);
	nng_msg_free(message);
	if (r < 0) {
		return REFUSED_WAIT_MS;
	}
	unsigned ms = take(prober, (const Hk__Response *)response, returned_ns);
	protobuf_c_message_free_unpacked(response, NULL);
	return ms;
}

static void step(void *data)
{
	uint64_t now_ns = hk_clock_monotonic_ns();
	struct hk_prober *prober = data;
	int result = nng_aio_result(prober->aio);
	if (result != 0 && prober->asking) {
		nng_msg_free(nng_aio_get_msg(prober->aio));
	}
	if (result == NNG_ECLOSED || result == NNG_ECANCELED) {
		return; /* the probing has ended */
	}
	if (result != 0) {
		rest(prober, LOST_WAIT_MS);
	} else if (prober->asking) {
		prober->asking = false;
		nng_ctx_recv(prober->ctx, prober->aio);
	} else {
		rest(prober, hear(prober, now_ns));
	}
}

/* ---- the caller's side ---- */

/* Packs the request once: all probes are equal. */
static int pack_question(struct hk_prober *prober, const char *url, const struct hk_access *access,
			 char problem[HK_ACCESS_PROBLEM_BYTES])
{
	char token[HK_ACCESS_TOKEN_MAX + 1];
	Hk__Request request = HK__REQUEST__INIT;
	Hk__ClockProbe probe = HK__CLOCK_PROBE__INIT;
	request.version = (char *)HK_VERSION;
	request.what_case = HK__REQUEST__WHAT_PROBE;
	request.probe = &probe;
	if (access && access->token_file && hk_access_url(url).transport > HK_TRANSPORT_LOCAL) {
		int r = hk_access_token(access->token_file, token, problem);
		if (r < 0) {
			return r;
		}
		request.token = (ProtobufCBinaryData){strlen(token), (uint8_t *)token};
	}
	return hk_message_pack(&request.base, &prober->question, &prober->question_bytes);
}

static int connect_to(struct hk_prober *prober, const char *url, const struct hk_access *access,
		      char problem[HK_ACCESS_PROBLEM_BYTES])
{
	nng_socket socket = prober->socket;
	/* A late probe is useless, so probes are never sent again. */
	nng_socket_set_ms(socket, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE);
	nng_socket_set_ms(socket, NNG_OPT_RECONNMINT, RECONNECT_MS);
	nng_socket_set_ms(socket, NNG_OPT_RECONNMAXT, RECONNECT_MAX_MS);
	nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, ANSWER_MAX);
	int r = hk_nng_errno(nng_ctx_open(&prober->ctx, socket));
	r = r < 0 ? r : hk_nng_errno(nng_aio_alloc(&prober->aio, step, prober));
	return r < 0 ? r : hk_dial(socket, url, access, 0, problem);
}

static void init_locks(struct hk_prober *prober)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&prober->turn, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&prober->lock, NULL);
}

static void fini_locks(struct hk_prober *prober)
{
	pthread_cond_destroy(&prober->turn);
	pthread_mutex_destroy(&prober->lock);
}

static int start_pacer(struct hk_prober *prober)
{
	prober->resting = true;
	prober->due_ns = 0;
	int r = -pthread_create(&prober->pacer, NULL, pace, prober);
	prober->paced = r == 0;
	return r;
}

int hk_prober_open(const char *url, const struct hk_access *access, struct hk_prober **ret_prober,
		   char problem[HK_ACCESS_PROBLEM_BYTES])
{
	*problem = '\0';
	struct hk_prober *prober = calloc(1, sizeof(*prober));
	if (!prober) {
		return -ENOMEM;
	}
	init_locks(prober);
	int r = hk_nng_errno(nng_req0_open(&prober->socket));
	if (r < 0) {
		fini_locks(prober);
		free(prober);
		return r;
	}
	r = hk_estimator_new(&prober->estimator);
	r = r < 0 ? r : pack_question(prober, url, access, problem);
	r = r < 0 ? r : connect_to(prober, url, access, problem);
	r = r < 0 ? r : start_pacer(prober);
	if (r < 0) {
		hk_prober_free(prober);
		return r;
	}
	*ret_prober = prober;
	return 0;
}

static void stop_pacer(struct hk_prober *prober)
{
	if (!prober->paced) {
		return;
	}
	pthread_mutex_lock(&prober->lock);
	prober->stopping = true;
	pthread_cond_signal(&prober->turn);
	pthread_mutex_unlock(&prober->lock);
	pthread_join(prober->pacer, NULL);
}

struct hk_prober *hk_prober_free(struct hk_prober *prober)
{
	if (!prober) {
		return NULL;
	}
	stop_pacer(prober);
	if (prober->aio) {
		nng_aio_stop(prober->aio);
	}
	nng_close(prober->socket);
	if (prober->aio) {
		nng_aio_free(prober->aio);
	}
	hk_estimator_free(prober->estimator);
	fini_locks(prober);
	free(prober->question);
	free(prober);
	return NULL;
}

bool hk_prober_map(struct hk_prober *prober, struct hk_clock_map *ret_map)
{
	uint64_t now_ns = hk_clock_monotonic_ns();
	bool known = false;
	pthread_mutex_lock(&prober->lock);
	uint64_t every = now_ns - prober->first_ns < FIRST_NS ? NEWS_FIRST_NS : NEWS_NS;
	if (prober->fresh && now_ns - prober->published_ns >= every) {
		known = hk_estimator_map(prober->estimator, ret_map);
		prober->published_ns = now_ns;
		prober->fresh = false;
	}
	pthread_mutex_unlock(&prober->lock);
	return known;
}
