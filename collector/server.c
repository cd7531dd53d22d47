#include "collector/server.h"

#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/answer.h"

#define CONTEXTS 16

enum context_state {
	CONTEXT_RECEIVING = 0, /* NNG's */
	CONTEXT_READY = 1,     /* a request has come: ours */
	CONTEXT_WAITING = 2,   /* answer put off: ours */
	CONTEXT_SENDING = 3,   /* NNG's */
	CONTEXT_CLOSED = 4,
};

struct context {
	struct hk_server *server;
	nng_ctx ctx;
	nng_aio *aio;
	_Atomic int state;    /* enum context_state; whoever it names may touch the rest */
	uint64_t received_ns; /* monotonic */
	Hk__Request *request; /* while READY or WAITING */
	struct hk_answer_wait wait;
};

struct hk_server {
	nng_socket socket;
	int event_fd;
	char path[PATH_MAX]; /* of the socket */
	struct context contexts[CONTEXTS];
};

/* On one of NNG's threads. */
static void context_done(void *data)
{
	struct context *context = data;
	int state = atomic_load_explicit(&context->state, memory_order_acquire);
	bool failed = nng_aio_result(context->aio) != 0;
	if (failed && state == CONTEXT_RECEIVING) {
		atomic_store_explicit(&context->state, CONTEXT_CLOSED, memory_order_release);
		return;
	}
	if (failed) {
		/* The asker has gone: its answer is ours to free. */
		nng_msg_free(nng_aio_get_msg(context->aio));
	}
	if (state == CONTEXT_SENDING) {
		atomic_store_explicit(&context->state, CONTEXT_RECEIVING, memory_order_release);
		nng_ctx_recv(context->ctx, context->aio);
		return;
	}
	context->received_ns = hk_clock_monotonic_ns();
	/* Pairs with the acquire in hk_server_run: the message is there. */
	atomic_store_explicit(&context->state, CONTEXT_READY, memory_order_release);
	uint64_t one = 1;
	(void)!write(context->server->event_fd, &one, sizeof(one));
}

static int open_contexts(struct hk_server *server)
{
	for (int i = 0; i < CONTEXTS; i++) {
		struct context *context = &server->contexts[i];
		context->server = server;
		int r = nng_aio_alloc(&context->aio, context_done, context);
		r = r ? r : nng_ctx_open(&context->ctx, server->socket);
		if (r != 0) {
			return hk_request_errno(r);
		}
		nng_ctx_recv(context->ctx, context->aio);
	}
	return 0;
}

/* Only we may talk to it, whatever the umask says; its directory is ours alone as well. */
static int listen_local(struct hk_server *server, const char *url)
{
	snprintf(server->path, sizeof(server->path), "%s", url + strlen("ipc://"));
	/* We hold the run directory's lock: a socket that is there belongs to nobody. */
	unlink(server->path);
	int r = hk_request_errno(nng_listen(server->socket, url, NULL, 0));
	return r < 0 ? r : chmod(server->path, 0600) < 0 ? -errno : 0;
}

int hk_server_open(const struct hk_collector *collector, struct hk_server **ret_server)
{
	struct hk_server *server = calloc(1, sizeof(*server));
	if (!server) {
		return -ENOMEM;
	}
	server->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = server->event_fd < 0 ? -errno : hk_request_errno(nng_rep0_open(&server->socket));
	if (r == 0) {
		nng_socket_set_size(server->socket, NNG_OPT_RECVMAXSZ, HK_ANSWER_REQUEST_MAX);
		r = listen_local(server, collector->url);
	}
	if (r == 0 && collector->options.listen) {
		r = hk_request_errno(
		    nng_listen(server->socket, collector->options.listen, NULL, 0));
	}
	if (r == 0) {
		r = open_contexts(server);
	}
	if (r < 0) {
		hk_server_free(server);
		return r;
	}
	*ret_server = server;
	return 0;
}

struct hk_server *hk_server_free(struct hk_server *server)
{
	if (!server) {
		return NULL;
	}
	for (int i = 0; i < CONTEXTS; i++) {
		if (server->contexts[i].aio) {
			nng_aio_stop(server->contexts[i].aio);
		}
	}
	nng_close(server->socket);
	for (int i = 0; i < CONTEXTS; i++) {
		struct context *context = &server->contexts[i];
		if (context->aio) {
			nng_aio_free(context->aio);
		}
		if (context->request) {
			hk__request__free_unpacked(context->request, NULL);
		}
	}
	if (*server->path) {
		unlink(server->path);
	}
	if (server->event_fd >= 0) {
		close(server->event_fd);
	}
	free(server);
	return NULL;
}

int hk_server_fd(const struct hk_server *server)
{
	return server->event_fd;
}

bool hk_server_waits(const struct hk_server *server)
{
	for (int i = 0; i < CONTEXTS; i++) {
		int state = atomic_load_explicit(&server->contexts[i].state, memory_order_acquire);
		if (state != CONTEXT_RECEIVING && state != CONTEXT_CLOSED) {
			return true;
		}
	}
	return false;
}

/* Takes the request out of the message that has come; NULL if it makes no sense. */
static Hk__Request *take_request(struct context *context)
{
	nng_msg *message = nng_aio_get_msg(context->aio);
	ProtobufCMessage *request = NULL;
	int r = hk_message_unpack(&hk__request__descriptor, nng_msg_body(message),
				  nng_msg_len(message), &request);
	nng_msg_free(message);
	return r < 0 ? NULL : (Hk__Request *)request;
}

static void send_answer(struct context *context, uint8_t *bytes, size_t size)
{
	nng_msg *message = NULL;
	int r = nng_msg_alloc(&message, 0);
	r = r ? r : nng_msg_append(message, bytes, size);
	free(bytes);
	if (r != 0) {
		/* Out of memory: an empty message is an empty Response. */
		if (!message) {
			abort();
		}
		nng_msg_clear(message);
	}
	nng_aio_set_msg(context->aio, message);
	atomic_store_explicit(&context->state, CONTEXT_SENDING, memory_order_release);
	nng_ctx_send(context->ctx, context->aio);
}

void hk_server_run(struct hk_collector *collector, struct hk_server *server)
{
	uint64_t count;
	(void)!read(server->event_fd, &count, sizeof(count));
	for (int i = 0; i < CONTEXTS; i++) {
		struct context *context = &server->contexts[i];
		int state = atomic_load_explicit(&context->state, memory_order_acquire);
		if (state == CONTEXT_READY) {
			context->request = take_request(context);
			context->wait =
			    (struct hk_answer_wait){.received_ns = context->received_ns};
		} else if (state != CONTEXT_WAITING) {
			continue;
		}
		uint8_t *bytes;
		size_t size;
		if (hk_answer_make(collector, context->request, &context->wait, &bytes, &size) ==
		    0) {
			atomic_store_explicit(&context->state, CONTEXT_WAITING,
					      memory_order_release);
			continue;
		}
		if (context->request) {
			hk__request__free_unpacked(context->request, NULL);
			context->request = NULL;
		}
		send_answer(context, bytes, size);
	}
}
