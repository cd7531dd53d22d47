#include "collector/otlp/post.h"

#include <errno.h>
#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "wire/nng_error.h"

#define MS_NS UINT64_C(1000000)
#define FAMILIES 2 /* of addresses of a name: IPv4, then IPv6 */

/* How long after its time an exchange is ended from outside. */
#define LATE_NS (200 * MS_NS)

enum post_state { POST_DIALING, POST_SENDING, POST_RECEIVING };

struct hk_post {
	nng_aio *aio; /* one operation at a time */
	struct nng_tls_config *tls;
	char urls[FAMILIES][HK_HTTP_URL_HOST_BYTES + 32]; /* "": none */
	/* Of the exchange under way: NNG's threads have these until `done`. */
	enum post_state state;
	nng_stream_dialer *dialers[FAMILIES];
	int family;
	pthread_mutex_t lock;
	nng_stream *stream; /* lock */
	bool closing;	    /* its end is forced; lock */
	char *head;
	uint8_t *body;
	size_t head_size, body_size, sent, got;
	uint64_t deadline_ns;
	int error; /* of NNG: the first one; 0: none */
	struct hk_otlp_answer answer;
	int result; /* negative errno */
	char bytes[HK_OTLP_ANSWER_BYTES];
	_Atomic bool done;
	bool busy; /* begun, and its end not reported */
};

/* ---- on NNG's threads ---- */

static void end(struct hk_post *post, int result)
{
	post->result = result;
	/* Pairs with the acquire in hk_post_ended. */
	atomic_store_explicit(&post->done, true, memory_order_release);
}

/* Starts the next operation of the state. */
static void start(struct hk_post *post)
{
	uint64_t now = hk_clock_monotonic_ns();
	uint64_t left = post->deadline_ns > now ? (post->deadline_ns - now) / MS_NS : 0;
	nng_aio_set_timeout(post->aio, (nng_duration)left + 1);
	if (post->state == POST_DIALING) {
		nng_stream_dialer_dial(post->dialers[post->family], post->aio);
	} else if (post->state == POST_SENDING) {
		bool head = post->sent < post->head_size;
		size_t sent = head ? post->sent : post->sent - post->head_size;
		nng_iov part = {head ? (void *)(post->head + sent) : (void *)(post->body + sent),
				(head ? post->head_size : post->body_size) - sent};
		nng_aio_set_iov(post->aio, 1, &part);
		nng_stream_send(post->stream, post->aio);
	} else {
		nng_iov part = {post->bytes + post->got, sizeof(post->bytes) - post->got};
		nng_aio_set_iov(post->aio, 1, &part);
		nng_stream_recv(post->stream, post->aio);
	}
}

/* Starts the next operation, unless the end is forced. NNG would let an operation on a closed
 * stream of TLS wait for ever. */
static void go_on(struct hk_post *post)
{
	pthread_mutex_lock(&post->lock);
	bool closing = post->closing;
	if (!closing) {
		start(post);
	}
	pthread_mutex_unlock(&post->lock);
	if (closing) {
		end(post, -ECANCELED);
	}
}

static void keep_stream(struct hk_post *post)
{
	pthread_mutex_lock(&post->lock);
	post->stream = nng_aio_get_output(post->aio, 0);
	pthread_mutex_unlock(&post->lock);
}

static void dialed(struct hk_post *post, int error)
{
	if (error == 0) {
		post->error = 0;
		post->state = POST_SENDING;
		keep_stream(post);
		go_on(post);
		return;
	}
	/* A name without an address of the first family says less than the second one does. */
	if (post->error == 0 || post->error == NNG_EADDRINVAL) {
		post->error = error;
	}
	if (error != NNG_ETIMEDOUT && post->family + 1 < FAMILIES &&
	    post->dialers[post->family + 1]) {
		post->family++;
		go_on(post);
		return;
	}
	end(post, hk_nng_errno(post->error));
}

static void sent(struct hk_post *post, int error)
{
	post->sent += error == 0 ? nng_aio_count(post->aio) : 0;
	post->error = error;
	if (error == NNG_ETIMEDOUT) {
		end(post, -ETIMEDOUT);
		return;
	}
	/* A peer may answer and close before it has read all. */
	if (error != 0 || post->sent == post->head_size + post->body_size) {
		post->state = POST_RECEIVING;
	}
	go_on(post);
}

static void received(struct hk_post *post, int error)
{
	post->got += error == 0 ? nng_aio_count(post->aio) : 0;
	bool full = post->got == sizeof(post->bytes);
	if (error == NNG_ETIMEDOUT) {
		end(post, -ETIMEDOUT);
		return;
	}
	int r = hk_otlp_answer_parse(post->bytes, post->got, error != 0 || full,
				     (uint64_t)time(NULL), &post->answer);
	if (r == 0) {
		go_on(post);
	} else if (r > 0) {
		end(post, 0);
	} else if (post->got == 0) {
		end(post, hk_nng_errno(post->error ? post->error : error));
	} else {
		end(post, full ? -EMSGSIZE : r);
	}
}

static void step(void *data)
{
	struct hk_post *post = data;
	int error = nng_aio_result(post->aio);
	if (error == NNG_ECANCELED) {
		end(post, -ECANCELED);
	} else if (post->state == POST_DIALING) {
		dialed(post, error);
	} else if (post->state == POST_SENDING) {
		sent(post, error);
	} else {
		received(post, error);
	}
}

/* ---- on the owner's thread ---- */

struct hk_post *hk_post_new(const struct hk_http_url *url, struct nng_tls_config *tls)
{
	const char *prefix = tls ? "tls+" : "";
	struct hk_post *post = calloc(1, sizeof(*post));
	if (!post || nng_aio_alloc(&post->aio, step, post) != 0) {
		free(post);
		return NULL;
	}
	pthread_mutex_init(&post->lock, NULL);
	post->tls = tls;
	/* NNG takes the first address of a name only, which may be one without a listener. */
	snprintf(post->urls[0], sizeof(post->urls[0]), "%stcp%s://%s:%s", prefix,
		 url->literal ? "" : "4", url->host, url->port);
	if (!url->literal) {
		snprintf(post->urls[1], sizeof(post->urls[1]), "%stcp6://%s:%s", prefix, url->host,
			 url->port);
	}
	return post;
}

/* Makes the exchange end. NNG 1.5 has no limit of time for what waits for a handshake of TLS: only
 * the connection's end ends it. */
static void force_end(struct hk_post *post)
{
	pthread_mutex_lock(&post->lock);
	if (post->stream && !post->closing) {
		nng_stream_close(post->stream);
	}
	post->closing = true;
	pthread_mutex_unlock(&post->lock);
}

/* Frees all of the exchange. */
static void clear(struct hk_post *post)
{
	if (post->stream) {
		nng_stream_close(post->stream);
		nng_stream_free(post->stream);
		post->stream = NULL;
	}
	for (int i = 0; i < FAMILIES; i++) {
		if (post->dialers[i]) {
			nng_stream_dialer_close(post->dialers[i]);
			nng_stream_dialer_free(post->dialers[i]);
			post->dialers[i] = NULL;
		}
	}
	if (post->head) {
		explicit_bzero(post->head, post->head_size); /* it may hold a token */
	}
	free(post->head);
	free(post->body);
	post->head = NULL;
	post->body = NULL;
	post->busy = false;
}

struct hk_post *hk_post_free(struct hk_post *post)
{
	if (post) {
		force_end(post);
		nng_aio_stop(post->aio);
		clear(post);
		nng_aio_free(post->aio);
		pthread_mutex_destroy(&post->lock);
		free(post);
	}
	return NULL;
}

/* Returns 0 or an error of NNG. */
static int open_dialers(struct hk_post *post)
{
	for (int i = 0; i < FAMILIES && *post->urls[i]; i++) {
		int r = nng_stream_dialer_alloc(&post->dialers[i], post->urls[i]);
		if (r == 0 && post->tls) {
			r = nng_stream_dialer_set_ptr(post->dialers[i], NNG_OPT_TLS_CONFIG,
						      post->tls);
		}
		if (r != 0) {
			return r;
		}
	}
	return 0;
}

int hk_post_begin(struct hk_post *post, char *head, uint8_t *body, size_t body_size,
		  uint64_t timeout_ns)
{
	post->head = head;
	post->head_size = strlen(head);
	post->body = body;
	post->body_size = body_size;
	int r = open_dialers(post);
	if (r != 0) {
		clear(post);
		return hk_nng_errno(r);
	}
	post->state = POST_DIALING;
	post->family = post->error = 0;
	post->sent = post->got = 0;
	post->deadline_ns = hk_clock_monotonic_ns() + timeout_ns;
	post->closing = false;
	post->busy = true;
	atomic_store(&post->done, false);
	go_on(post);
	return 0;
}

bool hk_post_ended(struct hk_post *post, int *ret_error, struct hk_otlp_answer *ret_answer)
{
	if (!post->busy) {
		return false;
	}
	if (!atomic_load_explicit(&post->done, memory_order_acquire)) {
		if (hk_clock_monotonic_ns() > post->deadline_ns + LATE_NS) {
			force_end(post);
		}
		return false;
	}
	/* The callback that set `done` may still return. */
	nng_aio_wait(post->aio);
	*ret_error = post->closing && post->result < 0 ? -ETIMEDOUT : post->result;
	*ret_answer = post->answer;
	clear(post);
	return true;
}
