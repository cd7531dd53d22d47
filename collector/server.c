#include "collector/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <malloc.h>
#include <nng/supplemental/tls/tls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/answer.h"
#include "collector/connection.h"
#include "collector/hub.h"

#define LISTENERS 2
#define CONNECTIONS_MAX 4096u
#define STRANGERS_MAX 256u /* over TCP: the oldest one goes for a new one */
#define STRANGERS_PER_PEER_MAX 64u
#define ENDED_MAX 512u		   /* not freed yet: no more are taken until they are */
#define CROWD 32u		   /* so many connections leave something behind */
#define ACCEPT_RETRY_NS 100000000u /* after a failure, mostly of descriptors */

struct listener {
	struct hk_server *server;
	nng_stream_listener *stream;
	nng_aio *accepting;
	enum hk_right given; /* to all who come here */
	bool local;
	bool stalled;	   /* nothing is being accepted: ours to begin again; hub's lock */
	uint64_t retry_ns; /* not before this; hub's lock */
	char url[HK_REQUEST_URL_BYTES]; /* with the port that it got */
};

struct hk_server {
	struct hk_hub hub;
	struct hk_policy *policy;
	nng_tls_config *tls; /* NULL: none */
	uint32_t connections_max;
	uint32_t crowd;	     /* most connections that were seen since memory was given back */
	char path[PATH_MAX]; /* of the local socket */
	struct listener listeners[LISTENERS];
	size_t listener_count;
};

/* ---- who comes ---- */

/* Who is at the other end of STREAM; an error if it may not be. */
static int peer_name(const struct listener *listener, nng_stream *stream,
		     char name[HK_REFUSALS_PEER_BYTES])
{
	uint64_t uid = UINT64_MAX;
	nng_sockaddr address;
	snprintf(name, HK_REFUSALS_PEER_BYTES, "unknown");
	if (listener->local) {
		if (nng_stream_get_uint64(stream, NNG_OPT_IPC_PEER_UID, &uid) == 0) {
			snprintf(name, HK_REFUSALS_PEER_BYTES, "uid=%llu", (unsigned long long)uid);
		}
		return uid == geteuid() || uid == 0 ? 0 : -EACCES;
	}
	if (nng_stream_get_addr(stream, NNG_OPT_REMADDR, &address) != 0) {
		return 0;
	}
	if (address.s_family == NNG_AF_INET) {
		inet_ntop(AF_INET, &address.s_in.sa_addr, name, HK_REFUSALS_PEER_BYTES);
	} else if (address.s_family == NNG_AF_INET6) {
		inet_ntop(AF_INET6, address.s_in6.sa_addr, name, HK_REFUSALS_PEER_BYTES);
	}
	return 0;
}

/* Makes room for a stranger who comes from PEER, or says why there is none. */
static const char *admit(struct hk_server *server, const struct listener *listener,
			 const char *peer)
{
	static const char why[] = "too many connections without a request";
	struct hk_hub *hub = &server->hub;
	const char *refused = NULL;
	uint32_t count;
	pthread_mutex_lock(&hub->lock);
	if (!listener->local) {
		struct hk_connection *oldest = hk_hub_stranger(hub, peer, &count);
		if (count >= STRANGERS_PER_PEER_MAX) {
			hk_connection_end(oldest, why);
		}
		oldest = hk_hub_stranger(hub, NULL, &count);
		if (count >= STRANGERS_MAX) {
			hk_connection_end(oldest, why);
		}
	}
	if (hub->count - hub->ended >= server->connections_max) {
		refused = "too many connections";
	}
	pthread_mutex_unlock(&hub->lock);
	return refused;
}

static void take_stream(struct listener *listener, nng_stream *stream)
{
	struct hk_hub *hub = &listener->server->hub;
	char peer[HK_REFUSALS_PEER_BYTES];
	const char *why = NULL;
	if (peer_name(listener, stream, peer) < 0) {
		why = "another user's process";
	} else {
		why = admit(listener->server, listener, peer);
	}
	if (!why && hk_connection_open(hub, stream, peer, listener->given, listener->local) < 0) {
		why = "out of memory";
	}
	if (why) {
		hk_refusals_note(hub->refusals, peer, why);
		nng_stream_free(stream);
	}
}

/* On one of NNG's threads. */
static void accept_done(void *data)
{
	struct listener *listener = data;
	struct hk_hub *hub = &listener->server->hub;
	int r = nng_aio_result(listener->accepting);
	if (r == NNG_ECLOSED || r == NNG_ECANCELED) {
		return;
	}
	if (r == 0) {
		take_stream(listener, nng_aio_get_output(listener->accepting, 0));
	}
	pthread_mutex_lock(&hub->lock);
	listener->stalled = r != 0 || hub->ended > ENDED_MAX;
	listener->retry_ns = r != 0 ? hk_clock_monotonic_ns() + ACCEPT_RETRY_NS : 0;
	bool stalled = listener->stalled;
	pthread_mutex_unlock(&hub->lock);
	if (stalled) {
		hk_hub_wake(hub);
	} else {
		nng_stream_listener_accept(listener->stream, listener->accepting);
	}
}

/* Begins again to accept where that had stopped. */
static void accept_on(struct hk_server *server)
{
	uint64_t now = hk_clock_monotonic_ns();
	for (size_t i = 0; i < server->listener_count; i++) {
		struct listener *listener = &server->listeners[i];
		pthread_mutex_lock(&server->hub.lock);
		bool again = listener->stalled && now >= listener->retry_ns;
		listener->stalled = listener->stalled && !again;
		pthread_mutex_unlock(&server->hub.lock);
		if (again) {
			nng_stream_listener_accept(listener->stream, listener->accepting);
		}
	}
}

/* ---- open and free ---- */

/* The URL with the port that the system chose, where it was asked for any. */
static void note_url(struct listener *listener, const char *url)
{
	nng_url *parsed;
	int port;
	snprintf(listener->url, sizeof(listener->url), "%s", url);
	if (listener->local || nng_url_parse(&parsed, url) != 0) {
		return;
	}
	if (nng_stream_listener_get_int(listener->stream, NNG_OPT_TCP_BOUND_PORT, &port) == 0) {
		const char *host = parsed->u_hostname;
		bool v6 = strchr(host, ':') != NULL;
		snprintf(listener->url, sizeof(listener->url), "%s://%s%s%s:%d", parsed->u_scheme,
			 v6 ? "[" : "", host, v6 ? "]" : "", port);
	}
	nng_url_free(parsed);
}

static int add_listener(struct hk_server *server, const char *url)
{
	struct listener *listener = &server->listeners[server->listener_count];
	struct hk_access_url said = hk_access_url(url);
	listener->server = server;
	listener->given = hk_policy_given(server->policy, url);
	listener->local = said.transport == HK_TRANSPORT_LOCAL;
	int r = nng_stream_listener_alloc(&listener->stream, url);
	if (r != 0) {
		return hk_request_errno(r);
	}
	server->listener_count++;
	if (said.transport == HK_TRANSPORT_TLS) {
		r = nng_stream_listener_set_ptr(listener->stream, NNG_OPT_TLS_CONFIG, server->tls);
	}
	r = r ? r : nng_aio_alloc(&listener->accepting, accept_done, listener);
	r = r ? r : nng_stream_listener_listen(listener->stream);
	if (r == 0) {
		note_url(listener, url);
	}
	return hk_request_errno(r);
}

/* Only we may talk to it, whatever the umask says; its directory is ours alone as well. */
static int listen_local(struct hk_server *server, const char *url)
{
	snprintf(server->path, sizeof(server->path), "%s", url + strlen("ipc://"));
	/* We hold the run directory's lock: a socket that is there belongs to nobody. */
	unlink(server->path);
	int r = add_listener(server, url);
	return r < 0 ? r : chmod(server->path, 0600) < 0 ? -errno : 0;
}

static int open_tls(const struct hk_collector_options *options, struct hk_server *server,
		    char problem[HK_ACCESS_PROBLEM_BYTES])
{
	const struct hk_access access = {
	    .authorities = options->upstream ? NULL : options->tls_authorities,
	    .certificate = options->tls_certificate,
	    .key = options->tls_key,
	};
	if (!options->listen || hk_access_url(options->listen).transport != HK_TRANSPORT_TLS) {
		return 0;
	}
	return hk_access_tls(&access, NULL, &server->tls, problem);
}

static int open_hub(struct hk_hub *hub)
{
	pthread_mutex_init(&hub->lock, NULL);
	hub->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	hub->refusals = hk_refusals_new();
	return hub->event_fd < 0 ? -errno : hub->refusals ? 0 : -ENOMEM;
}

/* Descriptors are for segments and files first. */
static uint32_t connections_max(void)
{
	struct rlimit limit;
	uint64_t quarter = CONNECTIONS_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		quarter = limit.rlim_cur / 4;
	}
	return quarter < CONNECTIONS_MAX ? (uint32_t)quarter : CONNECTIONS_MAX;
}

static int open_all(const struct hk_collector *collector, struct hk_server *server,
		    char problem[HK_ACCESS_PROBLEM_BYTES])
{
	int r = open_hub(&server->hub);
	r = r < 0 ? r : hk_policy_open(&collector->options, &server->policy, problem);
	r = r < 0 ? r : open_tls(&collector->options, server, problem);
	if (r < 0) {
		return r;
	}
	server->hub.policy = server->policy;
	server->connections_max = connections_max();
	const char *url = collector->url;
	r = listen_local(server, url);
	if (r == 0 && collector->options.listen) {
		url = collector->options.listen;
		r = add_listener(server, url);
	}
	if (r < 0) {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES, "cannot listen on %s: %s", url,
			 strerror(-r));
	}
	return r;
}

int hk_server_open(const struct hk_collector *collector, struct hk_server **ret_server,
		   char problem[HK_ACCESS_PROBLEM_BYTES])
{
	struct hk_server *server = calloc(1, sizeof(*server));
	*problem = '\0';
	if (!server) {
		return -ENOMEM;
	}
	int r = open_all(collector, server, problem);
	if (r < 0) {
		hk_server_free(server);
		return r;
	}
	for (size_t i = 0; i < server->listener_count; i++) {
		struct listener *listener = &server->listeners[i];
		nng_stream_listener_accept(listener->stream, listener->accepting);
	}
	*ret_server = server;
	return 0;
}

struct hk_server *hk_server_free(struct hk_server *server)
{
	struct hk_incoming *incoming, *next;
	if (!server) {
		return NULL;
	}
	for (size_t i = 0; i < server->listener_count; i++) {
		struct listener *listener = &server->listeners[i];
		nng_stream_listener_close(listener->stream);
		if (listener->accepting) {
			nng_aio_stop(listener->accepting);
			nng_aio_free(listener->accepting);
		}
		nng_stream_listener_free(listener->stream);
	}
	hk_hub_reap(&server->hub, true);
	DL_FOREACH_SAFE(server->hub.incoming, incoming, next)
	{
		hk_hub_answer(&server->hub, incoming, NULL, 0);
	}
	if (*server->path) {
		unlink(server->path);
	}
	if (server->hub.event_fd >= 0) {
		close(server->hub.event_fd);
	}
	if (server->tls) {
		nng_tls_config_free(server->tls);
	}
	hk_refusals_free(server->hub.refusals);
	hk_policy_free(server->policy);
	pthread_mutex_destroy(&server->hub.lock);
	free(server);
	return NULL;
}

/* ---- the collector's thread ---- */

int hk_server_fd(const struct hk_server *server)
{
	return server->hub.event_fd;
}

const char *hk_server_url(const struct hk_server *server)
{
	return server->listener_count > 1 ? server->listeners[1].url : "";
}

uint64_t hk_server_refusals(const struct hk_server *server)
{
	return hk_refusals_total(server->hub.refusals);
}

bool hk_server_waits(struct hk_server *server)
{
	struct hk_hub *hub = &server->hub;
	pthread_mutex_lock(&hub->lock);
	bool waits = hub->incoming || hub->ended > 0 || hub->unsent > 0;
	for (size_t i = 0; i < server->listener_count; i++) {
		waits |= server->listeners[i].stalled;
	}
	pthread_mutex_unlock(&hub->lock);
	return waits;
}

/* What a crowd has left behind in the allocator goes back to the system once the crowd has gone. */
static void tidy(struct hk_server *server)
{
	struct hk_hub *hub = &server->hub;
	pthread_mutex_lock(&hub->lock);
	uint32_t count = hub->count;
	pthread_mutex_unlock(&hub->lock);
	server->crowd = count > server->crowd ? count : server->crowd;
	if (server->crowd >= CROWD && count < server->crowd / 4) {
		malloc_trim(0);
		server->crowd = 0;
	}
}

void hk_server_tend(struct hk_server *server)
{
	hk_refusals_tell(server->hub.refusals, hk_clock_monotonic_ns());
	tidy(server);
}

/* The one after INCOMING, or the first (NULL). Others append meanwhile; only we take away. */
static struct hk_incoming *next_incoming(struct hk_hub *hub, const struct hk_incoming *incoming)
{
	pthread_mutex_lock(&hub->lock);
	struct hk_incoming *next = incoming ? incoming->next : hub->incoming;
	pthread_mutex_unlock(&hub->lock);
	return next;
}

static const struct hk_incoming *last_incoming(struct hk_hub *hub)
{
	pthread_mutex_lock(&hub->lock);
	const struct hk_incoming *last = hub->incoming ? hub->incoming->prev : NULL;
	pthread_mutex_unlock(&hub->lock);
	return last;
}

void hk_server_run(struct hk_collector *collector, struct hk_server *server)
{
	struct hk_hub *hub = &server->hub;
	struct hk_incoming *incoming, *next;
	uint64_t count;
	(void)!read(hub->event_fd, &count, sizeof(count));
	hk_hub_reap(hub, false);
	accept_on(server);
	/* What comes meanwhile has its turn next time: others have work to do as well. */
	const struct hk_incoming *last = last_incoming(hub);
	for (incoming = next_incoming(hub, NULL); incoming; incoming = next) {
		bool more = incoming != last;
		uint8_t *bytes;
		size_t size;
		bool answered = hk_hub_reads(hub, incoming) &&
				hk_answer_make(collector, incoming->request, &incoming->wait,
					       &bytes, &size) > 0;
		next = more ? next_incoming(hub, incoming) : NULL;
		if (answered) {
			hk_hub_answer(hub, incoming, bytes, size);
		}
	}
	hk_connection_resume(hub);
}
