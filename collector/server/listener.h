/* listener.h: takes connections on one URL, with TLS where that says so.
 *
 * Connections are taken on one of NNG's threads, one after the other. When accepting fails, mostly
 * for want of descriptors, or the owner has enough for now, it stops until the collector's thread
 * resumes it. Lifetime: the owner's; closed before whatever `take` uses is freed.
 */
#ifndef HK_COLLECTOR_SERVER_LISTENER_H
#define HK_COLLECTOR_SERVER_LISTENER_H

#include <nng/nng.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/model/options.h"
#include "collector/server/rejections.h"
#include "wire/request.h"

struct hk_listener;

/* Takes over STREAM, or frees it. Whether more are to be accepted now. One of NNG's threads. */
typedef bool (*hk_listener_take)(struct hk_listener *listener, nng_stream *stream);

struct hk_listener {
	void *owner;
	hk_listener_take take;
	int event_fd; /* written to when it has stopped accepting */
	nng_stream_listener *stream;
	nng_aio *accepting;
	pthread_mutex_t lock;
	bool stalled;	   /* nothing is being accepted; lock */
	uint64_t retry_ns; /* not before this; lock */
	bool local;
	char url[HK_REQUEST_URL_BYTES]; /* with the port that it got */
};

struct nng_tls_config;

/* Listens on URL for `owner`, with `take` and `event_fd`, which the caller has set; nothing is
 * accepted yet. TLS: for a URL that says so. -errno; close it also then. */
int hk_listener_open(struct hk_listener *listener, const char *url, struct nng_tls_config *tls);
/* Ends all callbacks and frees; a zeroed one is allowed. */
void hk_listener_close(struct hk_listener *listener);

/* Begins to accept. */
void hk_listener_accept(struct hk_listener *listener);
/* Begins again at NOW_NS (monotonic) where that had stopped. The collector's thread. */
void hk_listener_resume(struct hk_listener *listener, uint64_t now_ns);
bool hk_listener_stalled(struct hk_listener *listener);

/* Sets NAME to the peer of STREAM. Returns 0, or -EACCES if it is another user's process. */
int hk_listener_peer(const struct hk_listener *listener, nng_stream *stream,
		     char name[HK_REJECTIONS_PEER_BYTES]);

/* What a listener of this collector shows and asks for; the caller frees it. -errno with PROBLEM in
 * words. */
int hk_listener_tls(const struct hk_collector_options *options, struct nng_tls_config **ret_tls,
		    char problem[HK_ACCESS_PROBLEM_BYTES]);

#endif
