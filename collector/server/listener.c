#include "collector/server/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/dial.h"
#include "wire/nng_error.h"

#define ACCEPT_RETRY_NS 100000000u /* after a failure, mostly for lack of descriptors */

int hk_listener_peer(const struct hk_listener *listener, nng_stream *stream,
		     char name[HK_REJECTIONS_PEER_BYTES])
{
	uint64_t uid = UINT64_MAX;
	nng_sockaddr address;
	snprintf(name, HK_REJECTIONS_PEER_BYTES, "unknown");
	if (listener->local) {
		if (nng_stream_get_uint64(stream, NNG_OPT_IPC_PEER_UID, &uid) == 0) {
			snprintf(name, HK_REJECTIONS_PEER_BYTES, "uid=%llu",
				 (unsigned long long)uid);
		}
		return uid == geteuid() || uid == 0 ? 0 : -EACCES;
	}
	if (nng_stream_get_addr(stream, NNG_OPT_REMADDR, &address) != 0) {
		return 0;
	}
	if (address.s_family == NNG_AF_INET) {
		inet_ntop(AF_INET, &address.s_in.sa_addr, name, HK_REJECTIONS_PEER_BYTES);
	} else if (address.s_family == NNG_AF_INET6) {
		inet_ntop(AF_INET6, address.s_in6.sa_addr, name, HK_REJECTIONS_PEER_BYTES);
	}
	return 0;
}

/* Runs on a thread of NNG. */
static void accept_done(void *data)
{
	struct hk_listener *listener = data;
	int r = nng_aio_result(listener->accepting);
	if (r == NNG_ECLOSED || r == NNG_ECANCELED) {
		return;
	}
	bool more = r == 0 && listener->take(listener, nng_aio_get_output(listener->accepting, 0));
	if (more) {
		nng_stream_listener_accept(listener->stream, listener->accepting);
		return;
	}
	pthread_mutex_lock(&listener->lock);
	listener->stalled = true;
	listener->retry_ns = r != 0 ? hk_clock_monotonic_ns() + ACCEPT_RETRY_NS : 0;
	pthread_mutex_unlock(&listener->lock);
	uint64_t one = 1;
	(void)!write(listener->event_fd, &one, sizeof(one));
}

void hk_listener_accept(struct hk_listener *listener)
{
	nng_stream_listener_accept(listener->stream, listener->accepting);
}

void hk_listener_resume(struct hk_listener *listener, uint64_t now_ns)
{
	pthread_mutex_lock(&listener->lock);
	bool again = listener->stalled && now_ns >= listener->retry_ns;
	listener->stalled = listener->stalled && !again;
	pthread_mutex_unlock(&listener->lock);
	if (again) {
		hk_listener_accept(listener);
	}
}

bool hk_listener_stalled(struct hk_listener *listener)
{
	pthread_mutex_lock(&listener->lock);
	bool stalled = listener->stalled;
	pthread_mutex_unlock(&listener->lock);
	return stalled;
}

/* Notes the URL with the port that the system chose, if the URL leaves the port open. */
static void note_url(struct hk_listener *listener, const char *url)
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

int hk_listener_open(struct hk_listener *listener, const char *url, struct nng_tls_config *tls)
{
	struct hk_access_url said = hk_access_url(url);
	listener->local = said.transport == HK_TRANSPORT_LOCAL;
	int r = nng_stream_listener_alloc(&listener->stream, url);
	if (r != 0) {
		return hk_nng_errno(r);
	}
	pthread_mutex_init(&listener->lock, NULL);
	if (said.transport == HK_TRANSPORT_TLS) {
		r = nng_stream_listener_set_ptr(listener->stream, NNG_OPT_TLS_CONFIG, tls);
	}
	/* An answer consists of several small writes. With Nagle's algorithm, a write waits up to
	 * 40 ms for the acknowledgement of the previous one, which would make clocks wrong by half
	 * of that. */
	if (r == 0 && !listener->local) {
		r = nng_stream_listener_set_bool(listener->stream, NNG_OPT_TCP_NODELAY, true);
	}
	r = r ? r : nng_aio_alloc(&listener->accepting, accept_done, listener);
	r = r ? r : nng_stream_listener_listen(listener->stream);
	if (r == 0) {
		note_url(listener, url);
	}
	return hk_nng_errno(r);
}

void hk_listener_close(struct hk_listener *listener)
{
	if (!listener->stream) {
		return;
	}
	nng_stream_listener_close(listener->stream);
	if (listener->accepting) {
		nng_aio_stop(listener->accepting);
		nng_aio_free(listener->accepting);
	}
	nng_stream_listener_free(listener->stream);
	pthread_mutex_destroy(&listener->lock);
	*listener = (struct hk_listener){0};
}

int hk_listener_tls(const struct hk_collector_options *options, struct nng_tls_config **ret_tls,
		    char problem[HK_ACCESS_PROBLEM_BYTES])
{
	/* On a leaf the authorities are for the root's certificate. */
	const struct hk_access access = {
	    .authorities = options->upstream ? NULL : options->tls_authorities,
	    .certificate = options->tls_certificate,
	    .key = options->tls_key,
	};
	return hk_dial_tls(&access, NULL, ret_tls, problem);
}
