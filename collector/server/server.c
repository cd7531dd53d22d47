#include "collector/server/server.h"

#include <errno.h>
#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "collector/server/admission.h"
#include "collector/server/connection.h"
#include "collector/server/connection_receive.h"
#include "collector/server/hub.h"
#include "collector/server/listener.h"
#include "collector/server/request_queue.h"
#include "collector/server/resident.h"

#define LISTENERS 2
#define CONNECTIONS_MAX 4096u
#define UNAUTHENTICATED_MAX 256u /* over TCP; the oldest one is closed for a new one */
#define UNAUTHENTICATED_PER_PEER_MAX 64u
#define ENDED_MAX 512u /* most unfreed connections */

struct hk_server {
	struct hk_hub hub;
	nng_tls_config *tls; /* NULL: none */
	hk_request_handler handle;
	void *context;
	uint32_t connections_max, unauthenticated_max;
	uint64_t turn;
	struct hk_resident resident;
	char path[PATH_MAX]; /* of the local socket */
	struct hk_listener listeners[LISTENERS];
	size_t listener_count;
};

/* ---- who comes ---- */

/* Makes room for an unauthenticated client from PEER. Returns NULL, or why there is none. */
static const char *admit(struct hk_server *server, const struct hk_listener *listener,
			 const char *peer, bool is_open)
{
	static const char why[] = "too many connections without a request";
	struct hk_hub *hub = &server->hub;
	const char *refused = NULL;
	uint32_t count;
	pthread_mutex_lock(&hub->lock);
	if (!listener->local) {
		struct hk_connection *oldest = hk_hub_oldest_unauthenticated(hub, peer, &count);
		if (count >= UNAUTHENTICATED_PER_PEER_MAX) {
			hk_connection_end(oldest, why);
		}
		oldest = hk_hub_oldest_unauthenticated(hub, NULL, &count);
		if (count >= server->unauthenticated_max) {
			hk_connection_end(oldest, why);
		}
	}
	uint32_t local = hub->quota->accounts[HK_ACCOUNT_LOCAL].connections;
	uint32_t live = hub->count - hub->ended;
	/* An eighth of the connections is reserved for the local socket. */
	bool full = listener->local ? live >= server->connections_max
				    : live - local >= server->connections_max / 8 * 7;
	if (full || (is_open && hub->known >= hub->known_max)) {
		refused = "too many connections";
	}
	pthread_mutex_unlock(&hub->lock);
	return refused;
}

/* Runs on a thread of NNG. */
static bool take_stream(struct hk_listener *listener, nng_stream *stream)
{
	struct hk_server *server = listener->owner;
	struct hk_hub *hub = &server->hub;
	char peer[HK_REJECTIONS_PEER_BYTES];
	const char *why = NULL;
	enum hk_right given = hk_policy_default_right(hub->policy, listener->url);
	if (hk_listener_peer(listener, stream, peer) < 0) {
		why = "another user's process";
	} else {
		why = admit(server, listener, peer, given != HK_RIGHT_NONE && !listener->local);
	}
	if (!why && hk_connection_open(hub, stream, peer, given, listener->local) < 0) {
		why = "out of memory";
	}
	if (why) {
		hk_rejections_add(hub->refusals, peer, why);
		nng_stream_free(stream);
	}
	pthread_mutex_lock(&hub->lock);
	bool more = hub->ended <= ENDED_MAX;
	pthread_mutex_unlock(&hub->lock);
	return more;
}

static void accept_on(struct hk_server *server)
{
	uint64_t now = hk_clock_monotonic_ns();
	for (size_t i = 0; i < server->listener_count; i++) {
		hk_listener_resume(&server->listeners[i], now);
	}
}

/* ---- open and free ---- */

static int open_listener(struct hk_server *server, struct hk_listener *listener, const char *url)
{
	listener->owner = server;
	listener->take = take_stream;
	listener->event_fd = server->hub.event_fd;
	return hk_listener_open(listener, url, server->tls);
}

static int add_listener(struct hk_server *server, const char *url)
{
	return open_listener(server, &server->listeners[server->listener_count++], url);
}

/* Only this user may connect, whatever the umask is. The socket's directory is private too. */
static int listen_local(struct hk_server *server, const char *url)
{
	snprintf(server->path, sizeof(server->path), "%s", url + strlen("ipc://"));
	/* This collector holds the run directory's lock, so no other one uses a socket that is
	 * there. */
	unlink(server->path);
	int r = add_listener(server, url);
	return r < 0 ? r : chmod(server->path, 0600) < 0 ? -errno : 0;
}

bool hk_server_is_reachable(const struct hk_server *server)
{
	return access(server->path, F_OK) == 0;
}

int hk_server_listen_again(struct hk_server *server, const char *url)
{
	struct hk_listener *listener = &server->listeners[0];
	hk_listener_close(listener);
	int r = open_listener(server, listener, url);
	r = r < 0 ? r : chmod(server->path, 0600) < 0 ? -errno : 0;
	if (r == 0) {
		hk_listener_accept(listener);
	}
	return r;
}

static int open_tls(const struct hk_collector_options *options, struct hk_server *server,
		    char problem[HK_ACCESS_PROBLEM_BYTES])
{
	if (!options->listen || hk_access_url(options->listen).transport != HK_TRANSPORT_TLS) {
		return 0;
	}
	return hk_listener_tls(options, &server->tls, problem);
}

static int open_hub(struct hk_hub *hub)
{
	pthread_mutex_init(&hub->lock, NULL);
	hub->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return hub->event_fd < 0 ? -errno : 0;
}

/* Limits the connections, because segments and files need the descriptors first. */
static void limit_connections(struct hk_server *server)
{
	struct rlimit limit;
	uint64_t quarter = CONNECTIONS_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		quarter = limit.rlim_cur / 4;
	}
	uint32_t most = quarter < CONNECTIONS_MAX ? (uint32_t)quarter : CONNECTIONS_MAX;
	uint32_t share = most / 8 * HK_QUOTA_UNAUTHENTICATED_EIGHTHS;
	server->connections_max = most;
	server->unauthenticated_max = share < UNAUTHENTICATED_MAX ? share : UNAUTHENTICATED_MAX;
	server->hub.known_max = most / 8 * HK_QUOTA_KNOWN_EIGHTHS;
}

static int open_all(const struct hk_server_setup *setup, struct hk_server *server,
		    char problem[HK_ACCESS_PROBLEM_BYTES])
{
	int r = open_hub(&server->hub);
	r = r < 0 ? r : open_tls(setup->options, server, problem);
	if (r < 0) {
		return r;
	}
	server->handle = setup->handle;
	server->context = setup->context;
	server->hub.policy = setup->policy;
	server->hub.right = setup->right;
	server->hub.refusals = setup->rejections;
	server->hub.quota = hk_quota_new(setup->policy, setup->rejections);
	if (!server->hub.quota) {
		return -ENOMEM;
	}
	limit_connections(server);
	const char *url = setup->url;
	r = listen_local(server, url);
	if (r == 0 && setup->options->listen) {
		url = setup->options->listen;
		r = add_listener(server, url);
	}
	if (r < 0) {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES, "cannot listen on %s: %s", url,
			 strerror(-r));
	}
	return r;
}

int hk_server_open(const struct hk_server_setup *setup, struct hk_server **ret_server,
		   char problem[HK_ACCESS_PROBLEM_BYTES])
{
	struct hk_server *server = calloc(1, sizeof(*server));
	*problem = '\0';
	if (!server) {
		return -ENOMEM;
	}
	int r = open_all(setup, server, problem);
	if (r < 0) {
		hk_server_free(server);
		return r;
	}
	for (size_t i = 0; i < server->listener_count; i++) {
		hk_listener_accept(&server->listeners[i]);
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
		hk_listener_close(&server->listeners[i]);
	}
	hk_hub_reap(&server->hub, true);
	for (size_t i = 0; server->hub.quota && i < server->hub.quota->count; i++) {
		DL_FOREACH_SAFE(server->hub.quota->accounts[i].incoming, incoming, next)
		{
			hk_hub_reply(&server->hub, incoming, NULL, 0);
		}
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
	hk_quota_free(server->hub.quota);
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

bool hk_server_waits(struct hk_server *server)
{
	struct hk_hub *hub = &server->hub;
	pthread_mutex_lock(&hub->lock);
	bool waits = hub->queued > 0 || hub->ended > 0 || hub->unsent > 0;
	pthread_mutex_unlock(&hub->lock);
	for (size_t i = 0; i < server->listener_count; i++) {
		waits |= hk_listener_stalled(&server->listeners[i]);
	}
	return waits;
}

struct hk_quota *hk_server_quota(const struct hk_server *server)
{
	return server->hub.quota;
}

void hk_server_maintain(struct hk_server *server)
{
	uint64_t now = hk_clock_monotonic_ns();
	hk_rejections_log(server->hub.refusals, now);
	hk_resident_trim(&server->resident, now);
}

void hk_server_run(struct hk_server *server)
{
	struct hk_hub *hub = &server->hub;
	struct hk_incoming *incoming;
	uint64_t count, begin = hk_clock_monotonic_ns(), now = begin;
	(void)!read(hub->event_fd, &count, sizeof(count));
	hk_hub_reap(hub, false);
	accept_on(server);
	server->turn++;
	while ((incoming = hk_hub_next(hub, server->turn)) != NULL) {
		struct hk_account *account = incoming->account;
		uint64_t before = now;
		uint8_t *bytes;
		size_t size;
		int answered = server->handle(server->context, incoming->request, &incoming->wait,
					      &bytes, &size);
		now = hk_clock_monotonic_ns();
		hk_hub_spent(hub, account, now - before);
		if (answered > 0) {
			hk_hub_reply(hub, incoming, bytes, size);
		}
		if (now - begin >= HK_QUOTA_TURN_NS) {
			/* The collector's other work comes in between; the remaining requests
			 * follow at once. */
			hk_hub_wake(hub);
			break;
		}
	}
	hk_connection_resume(hub);
}

static bool is_shown(const struct hk_account *account, const char *user)
{
	bool used = account->connections > 0 || account->loop_ns > 0 || account->refused > 0;
	return used && (!*user || strcmp(account->name, user) == 0);
}

int hk_server_accounts(struct hk_server *server, const char *user, Hk__Account ***ret_list,
		       size_t *ret_count)
{
	struct hk_hub *hub = &server->hub;
	size_t all = hub->quota->count, count = 0;
	/* One allocation holds the list, then the messages. */
	Hk__Account **list = calloc(all + 1, sizeof(Hk__Account *) + sizeof(Hk__Account));
	if (!list) {
		return -ENOMEM;
	}
	Hk__Account *shown = (Hk__Account *)(void *)(list + all + 1);
	pthread_mutex_lock(&hub->lock);
	for (size_t i = 0; i < all; i++) {
		if (is_shown(&hub->quota->accounts[i], user)) {
			list[count] = &shown[count];
			hk_quota_show(&hub->quota->accounts[i], list[count]);
			count++;
		}
	}
	pthread_mutex_unlock(&hub->lock);
	*ret_list = list;
	*ret_count = count;
	return 0;
}
