#include "collector/http/http.h"

#include <errno.h>
#include <mbedtls/constant_time.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "collector/http/http_client.h"
#include "collector/http/http_live.h"
#include "collector/model/collector.h"

#define CLIENTS_MAX 128u
#define LIVE_MAX 64u  /* clients that wait for live pages; the rest is for /metrics */
#define ENDED_MAX 64u /* unfreed connections; above this, no new one is accepted */
#define MS_NS UINT64_C(1000000)
#define REQUEST_NS (5000 * MS_NS)
#define SEND_NS (30000 * MS_NS)
#define LINGER_NS (1000 * MS_NS)

/* ---- one client ---- */

static void wake(const struct hk_http *http)
{
	uint64_t one = 1;
	(void)!write(http->event_fd, &one, sizeof(one));
}

/* The caller holds the lock. */
static void end_locked(struct hk_http_client *client, const char *why)
{
	struct hk_http *http = client->http;
	if (client->ended) {
		return;
	}
	if (why) {
		hk_rejections_add(http->refusals, client->peer, why);
	}
	http->waiting -= client->state == STATE_WAITING;
	client->ended = true;
	http->ended++;
	wake(http);
}

static void end(struct hk_http_client *client, const char *why)
{
	pthread_mutex_lock(&client->http->lock);
	end_locked(client, why);
	pthread_mutex_unlock(&client->http->lock);
}

/* Starts the next transfer of the state. */
static void go_on(struct hk_http_client *client)
{
	nng_iov parts[2] = {{client->head + client->got, sizeof(client->head) - client->got}};
	unsigned count = 1;
	bool sends = client->state == STATE_SENDING;
	if (sends) {
		size_t sent = client->sent, head = client->reply_size;
		count = 0;
		if (sent < head) {
			parts[count++] = (nng_iov){client->reply + sent, head - sent};
			sent = head;
		}
		if (sent < head + client->body_size) {
			parts[count++] = (nng_iov){client->body->text + (sent - head),
						   client->body_size - (sent - head)};
		}
	} else if (client->state == STATE_LEAVING) {
		/* Further input is ignored. */
		parts[0] = (nng_iov){client->head, sizeof(client->head)};
	}
	uint64_t now = hk_clock_monotonic_ns();
	uint64_t left = client->deadline_ns > now ? (client->deadline_ns - now) / MS_NS : 0;
	nng_aio_set_iov(client->aio, count, parts);
	nng_aio_set_timeout(client->aio, (nng_duration)left + 1);
	if (sends) {
		nng_stream_send(client->stream, client->aio);
	} else {
		nng_stream_recv(client->stream, client->aio);
	}
}

static void enter(struct hk_http_client *client, enum hk_http_state state, uint64_t time_ns)
{
	struct hk_http *http = client->http;
	pthread_mutex_lock(&http->lock);
	http->waiting -= client->state == STATE_WAITING && !client->ended;
	client->state = state;
	client->deadline_ns = hk_clock_monotonic_ns() + time_ns;
	bool ended = client->ended;
	pthread_mutex_unlock(&http->lock);
	if (!ended) {
		go_on(client);
	}
}

/* Programs send a token as it is, browsers as a password. */
#define CHALLENGE                                          \
	"WWW-Authenticate: Bearer realm=\"hooktrace\"\r\n" \
	"WWW-Authenticate: Basic realm=\"hooktrace: the token is the password\"\r\n"

void hk_http_reply(struct hk_http_client *client, const char *status, const char *type,
		   struct hk_page *body, const char *text)
{
	size_t size = body ? body->size : strlen(text);
	bool denied = strncmp(status, "401", 3) == 0;
	int used = snprintf(client->reply, sizeof(client->reply),
			    "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
			    "X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
			    "%s%sConnection: close\r\n\r\n%s",
			    status, type, size, denied ? CHALLENGE : "",
			    strncmp(status, "405", 3) == 0 ? "Allow: GET, HEAD\r\n" : "",
			    body || client->bodyless ? "" : text);
	client->reply_size = (size_t)used;
	client->body = body;
	client->body_size = body && !client->bodyless ? size : 0;
	enter(client, STATE_SENDING, SEND_NS);
}

void hk_http_refuse(struct hk_http_client *client, const char *status, const char *text)
{
	hk_http_reply(client, status, HK_HTTP_PLAIN, NULL, text);
}

/* ---- what it asks ---- */

/* Returns whether clients of this address need no token. */
static bool is_open(const struct hk_http *http)
{
	return !*http->own_token &&
	       hk_policy_default_right(http->policy, http->listener.url) >= HK_RIGHT_READ;
}

/* Returns whether TOKEN is the server's own. The time it takes does not depend on its bytes. */
static bool is_own_token(const struct hk_http *http, const char *token)
{
	size_t size = strlen(http->own_token);
	return size > 0 && strlen(token) == size &&
	       mbedtls_ct_memcmp(token, http->own_token, size) == 0;
}

static bool may_read(struct hk_http_client *client, const char *bearer)
{
	struct hk_http *http = client->http;
	size_t account;
	client->user = "";
	if (is_open(http)) {
		return true;
	}
	if (bearer && is_own_token(http, bearer)) {
		return true;
	}
	return bearer && hk_policy_right(http->policy, (const uint8_t *)bearer, strlen(bearer),
					 &client->user, &account) >= HK_RIGHT_READ;
}

/* Passes the request to the collector's thread. */
static void await(struct hk_http_client *client, enum hk_http_path path)
{
	struct hk_http *http = client->http;
	client->path = path;
	client->waits_since_ns = hk_clock_monotonic_ns();
	pthread_mutex_lock(&http->lock);
	if (!client->ended) {
		client->state = STATE_WAITING;
		http->waiting++;
	}
	pthread_mutex_unlock(&http->lock);
	wake(http);
}

/* Returns whether HOST, with or without a port, is this machine by one of its own names. A page of
 * another origin whose name leads here has its own name as host. */
static bool is_local(const char *host)
{
	static const char bracketed[] = "[::1]", name[] = "localhost";
	size_t size = strncmp(host, bracketed, strlen(bracketed)) == 0 ? strlen(bracketed)
		      : strncasecmp(host, name, strlen(name)) == 0     ? strlen(name)
		      : strncmp(host, "127.", strlen("127.")) == 0     ? strspn(host, "0123456789.")
								       : 0;

	return size > 0 && (host[size] == '\0' || host[size] == ':');
}

/* Returns how many clients wait for a live page, or receive one. */
static uint32_t live_clients(struct hk_http *http)
{
	struct hk_http_client *client;
	uint32_t count = 0;
	pthread_mutex_lock(&http->lock);
	DL_FOREACH (http->clients, client) {
		bool busy = client->state == STATE_WAITING || client->state == STATE_SENDING;
		count += busy && client->path == PATH_LIVE && !client->ended;
	}
	pthread_mutex_unlock(&http->lock);
	return count;
}

static void judge(struct hk_http_client *client, const struct hk_http_head *head)
{
	bool get = strcmp(head->method, "GET") == 0;
	client->bodyless = strcmp(head->method, "HEAD") == 0;
	client->format = hk_exposition_choose(head->accept);
	client->target = head->path;
	if (strcmp(head->path, "/healthz") == 0 && (get || client->bodyless)) {
		await(client, PATH_HEALTH);
	} else if (!may_read(client, head->bearer)) {
		hk_rejections_add(client->http->refusals, client->peer,
				  "http: no token, or a wrong one");
		hk_http_refuse(
		    client, "401 Unauthorized",
		    "send a token of the collector's --token-file: Authorization: Bearer, or as "
		    "the password in a browser\n");
	} else if (!get && !client->bodyless) {
		hk_http_refuse(client, "405 Method Not Allowed", "only GET and HEAD\n");
	} else if (strcmp(head->path, "/metrics") == 0) {
		await(client, PATH_METRICS);
	} else if (is_open(client->http) && !(head->host && is_local(head->host))) {
		hk_http_refuse(client, "403 Forbidden",
			       "without a token, pages are here for localhost only\n");
	} else if (live_clients(client->http) >= LIVE_MAX) {
		hk_http_refuse(client, "503 Service Unavailable",
			       "too many pages are being made: ask again\n");
	} else {
		await(client, PATH_LIVE);
	}
}

static void take_bytes(struct hk_http_client *client, size_t count)
{
	struct hk_http_head head;
	client->got += count;
	int r = hk_http_head_parse(client->head, client->got, &head);
	if (r > 0) {
		judge(client, &head);
	} else if (r < 0) {
		hk_http_refuse(client, "400 Bad Request", "this is no HTTP/1 request\n");
	} else if (client->got == sizeof(client->head)) {
		hk_http_refuse(client, "431 Request Header Fields Too Large", "too long\n");
	} else {
		go_on(client);
	}
}

/* Runs on a thread of NNG. */
static void io_done(void *data)
{
	struct hk_http_client *client = data;
	int r = nng_aio_result(client->aio);
	size_t count = nng_aio_count(client->aio);
	if (client->state == STATE_READING) {
		if (r == 0) {
			take_bytes(client, count);
		} else {
			end(client, r == NNG_ETIMEDOUT ? "http: no request in time"
				    : r == NNG_ECRYPTO || r == NNG_EPEERAUTH
					? "http: no TLS, or a certificate that is not trusted"
					: NULL);
		}
	} else if (client->state == STATE_SENDING) {
		client->sent += r == 0 ? count : 0;
		if (r != 0) {
			end(client, r == NNG_ETIMEDOUT ? "http: does not read its answer" : NULL);
		} else if (client->sent < client->reply_size + client->body_size) {
			go_on(client);
		} else {
			enter(client, STATE_LEAVING, LINGER_NS);
		}
	} else if (r != 0 || hk_clock_monotonic_ns() >= client->deadline_ns) {
		end(client, NULL);
	} else {
		go_on(client);
	}
}

/* ---- who comes ---- */

/* Returns the oldest client that does not wait for an answer, or NULL. The caller holds the lock.
 */
static struct hk_http_client *oldest_idle(const struct hk_http *http)
{
	struct hk_http_client *client;
	DL_FOREACH (http->clients, client) {
		bool idle = client->state == STATE_READING || client->state == STATE_LEAVING;
		if (idle && !client->ended) {
			return client;
		}
	}
	return NULL;
}

static struct hk_http_client *client_new(struct hk_http *http, nng_stream *stream)
{
	struct hk_http_client *client = calloc(1, sizeof(*client));
	if (!client || nng_aio_alloc(&client->aio, io_done, client) != 0) {
		free(client);
		return NULL;
	}
	client->http = http;
	client->stream = stream;
	client->deadline_ns = hk_clock_monotonic_ns() + REQUEST_NS;
	client->opening = true;
	hk_listener_peer(&http->listener, stream, client->peer);
	return client;
}

/* Adds CLIENT, if necessary in place of another one. Returns false if there is no room. */
static bool admit(struct hk_http *http, struct hk_http_client *client)
{
	pthread_mutex_lock(&http->lock);
	if (http->count - http->ended >= CLIENTS_MAX) {
		struct hk_http_client *oldest = oldest_idle(http);
		if (oldest) {
			/* A client that has its answer is not counted as refused. */
			end_locked(oldest, oldest->state == STATE_READING
					       ? "http: too many connections"
					       : NULL);
		}
	}
	bool room = http->count - http->ended < CLIENTS_MAX;
	if (room) {
		DL_APPEND(http->clients, client);
		http->count++;
	}
	pthread_mutex_unlock(&http->lock);
	return room;
}

/* Runs on a thread of NNG. */
static bool take_stream(struct hk_listener *listener, nng_stream *stream)
{
	struct hk_http *http = listener->owner;
	struct hk_http_client *client = client_new(http, stream);
	if (!client) {
		nng_stream_free(stream);
		return true;
	}
	if (admit(http, client)) {
		go_on(client);
	} else {
		hk_rejections_add(http->refusals, client->peer, "http: too many connections");
		nng_stream_free(stream);
		nng_aio_free(client->aio);
		free(client);
		client = NULL;
	}
	pthread_mutex_lock(&http->lock);
	if (client) {
		client->opening = false;
	}
	bool more = http->ended <= ENDED_MAX;
	pthread_mutex_unlock(&http->lock);
	return more;
}

/* ---- open and free ---- */

/* Opens the listener: plain HTTP on loopback for Prometheus on this machine, else TLS as policy.h
 * requires. */
static int open_listener(const struct hk_collector_options *options, struct hk_http *http,
			 char problem[HK_ACCESS_PROBLEM_BYTES])
{
	char url[HK_REQUEST_URL_BYTES];
	int r = hk_policy_http_url(options, http->policy, url, problem);
	if (r == 0 && hk_access_url(url).transport == HK_TRANSPORT_TLS) {
		r = hk_listener_tls(options, &http->tls, problem);
	}
	if (r < 0) {
		return r;
	}
	http->listener =
	    (struct hk_listener){.owner = http, .take = take_stream, .event_fd = http->event_fd};
	r = hk_listener_open(&http->listener, url, http->tls);
	if (r < 0) {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES, "--http %s: %s", options->http,
			 strerror(-r));
	}
	return r;
}

/* Opens the address of OPTIONS, for clients with OWN_TOKEN too. */
static int open_http(const struct hk_collector *collector,
		     const struct hk_collector_options *options, const char *own_token,
		     struct hk_http **ret_http, char problem[HK_ACCESS_PROBLEM_BYTES])
{
	struct hk_http *http = calloc(1, sizeof(*http));
	*problem = '\0';
	if (!http) {
		return -ENOMEM;
	}
	pthread_mutex_init(&http->lock, NULL);
	http->policy = collector->policy;
	http->refusals = collector->rejections;
	snprintf(http->own_token, sizeof(http->own_token), "%s", own_token);
	http->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	http->live = hk_live_new(collector->url, collector->store);
	int r = http->event_fd < 0 ? -errno : http->live ? 0 : -ENOMEM;
	r = r < 0 ? r : open_listener(options, http, problem);
	if (r < 0) {
		hk_http_free(http);
		return r;
	}
	snprintf(http->site, sizeof(http->site), "%s%s", http->tls ? "https" : "http",
		 strstr(http->listener.url, "://"));
	snprintf(http->url, sizeof(http->url), "%s/metrics", http->site);
	hk_listener_accept(&http->listener);
	*ret_http = http;
	return 0;
}

int hk_http_open(const struct hk_collector *collector, struct hk_http **ret_http,
		 char problem[HK_ACCESS_PROBLEM_BYTES])
{
	return open_http(collector, &collector->options, "", ret_http, problem);
}

int hk_http_open_own(const struct hk_collector *collector, struct hk_http **ret_http,
		     char problem[HK_ACCESS_PROBLEM_BYTES])
{
	const struct hk_collector_options options = {.http = "127.0.0.1:0"};
	unsigned char bytes[HK_HTTP_TOKEN_BYTES];
	char token[2 * sizeof(bytes) + 1];
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
		return -EIO;
	}
	for (size_t i = 0; i < sizeof(bytes); i++) {
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	}
	return open_http(collector, &options, token, ret_http, problem);
}

/* Frees the ended clients, or ALL. */
static void reap(struct hk_http *http, bool all)
{
	struct hk_http_client *client, *next, *taken = NULL;
	pthread_mutex_lock(&http->lock);
	DL_FOREACH_SAFE(http->clients, client, next)
	{
		if (client->opening || (!client->ended && !all)) {
			continue;
		}
		end_locked(client, NULL);
		http->ended--;
		http->count--;
		DL_DELETE(http->clients, client);
		DL_APPEND(taken, client);
	}
	pthread_mutex_unlock(&http->lock);
	DL_FOREACH_SAFE(taken, client, next)
	{
		nng_stream_close(client->stream);
		nng_aio_stop(client->aio);
		nng_aio_free(client->aio);
		nng_stream_free(client->stream);
		hk_page_unref(client->body);
		free(client);
	}
}

struct hk_http *hk_http_free(struct hk_http *http)
{
	if (!http) {
		return NULL;
	}
	hk_listener_close(&http->listener);
	reap(http, true);
	hk_page_cache_fini(&http->pages);
	http->live = hk_live_free(http->live);
	if (http->tls) {
		nng_tls_config_free(http->tls);
	}
	if (http->event_fd >= 0) {
		close(http->event_fd);
	}
	pthread_mutex_destroy(&http->lock);
	free(http);
	return NULL;
}

/* ---- the collector's thread ---- */

int hk_http_fd(const struct hk_http *http)
{
	return http ? http->event_fd : -1;
}

const char *hk_http_url(const struct hk_http *http)
{
	return http ? http->url : "";
}

const char *hk_http_site(const struct hk_http *http)
{
	return http->site;
}

const char *hk_http_own_token(const struct hk_http *http)
{
	return http->own_token;
}

bool hk_http_waits(struct hk_http *http)
{
	if (!http) {
		return false;
	}
	pthread_mutex_lock(&http->lock);
	bool waits = http->waiting > 0 || http->ended > 0;
	pthread_mutex_unlock(&http->lock);
	return waits || hk_listener_stalled(&http->listener);
}

static void answer_metrics(struct hk_collector *collector, struct hk_http *http,
			   struct hk_http_client *client)
{
	struct hk_page *page;
	if (hk_page_cache_get(&http->pages, collector, client->user, client->format, &page) < 0) {
		hk_http_refuse(client, "503 Service Unavailable", "out of memory\n");
		return;
	}
	hk_http_reply(client, "200 OK", hk_exposition_content_type(client->format), page, "");
}

struct hk_http_client *hk_http_find_waiting(struct hk_http *http,
					    bool (*matches)(const struct hk_http_client *client,
							    uint64_t number),
					    uint64_t number)
{
	struct hk_http_client *client;
	pthread_mutex_lock(&http->lock);
	DL_FOREACH (http->clients, client) {
		if (client->state == STATE_WAITING && !client->ended && matches(client, number)) {
			break;
		}
	}
	pthread_mutex_unlock(&http->lock);
	return client;
}

static bool is_answered_here(const struct hk_http_client *client, uint64_t number)
{
	(void)number;
	return client->path != PATH_LIVE;
}

void hk_http_run(struct hk_collector *collector, struct hk_http *http)
{
	struct hk_http_client *client;
	uint64_t count;
	if (!http) {
		return;
	}
	(void)!read(http->event_fd, &count, sizeof(count));
	reap(http, false);
	hk_listener_resume(&http->listener, hk_clock_monotonic_ns());
	while ((client = hk_http_find_waiting(http, is_answered_here, 0)) != NULL) {
		if (client->path == PATH_HEALTH) {
			hk_http_refuse(client, "200 OK", "ok\n");
		} else {
			answer_metrics(collector, http, client);
		}
	}
	hk_http_run_live(http);
}

int hk_http_live_fd(const struct hk_http *http)
{
	return http ? hk_live_fd(http->live) : -1;
}
