/* listener.h: accepts connections on one URL, with TLS if the URL says so.
 *
 * One of NNG's threads accepts connections one after the other. The listener stops if accepting
 * fails, mostly for lack of descriptors, or if the owner wants no more for now. The collector's
 * thread resumes it. Lifetime: the owner's; closed before the owner frees what `take` uses.
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

/* Takes over STREAM, or frees it. Returns whether to accept more now. Runs on one of NNG's threads.
 */
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

/* Listens on URL for `owner`, with `take` and `event_fd`, which the caller has set, and accepts
 * nothing yet. TLS is for a URL that needs it. Returns 0 or -errno; close the listener in both
 * cases. */
int hk_listener_open(struct hk_listener *listener, const char *url, struct nng_tls_config *tls);
/* Ends all callbacks and frees; a zeroed one is allowed. */
void hk_listener_close(struct hk_listener *listener);

/* Begins to accept. */
void hk_listener_accept(struct hk_listener *listener);
/* Resumes accepting at NOW_NS (monotonic) if the listener stopped. The collector's thread. */
void hk_listener_resume(struct hk_listener *listener, uint64_t now_ns);
bool hk_listener_stalled(struct hk_listener *listener);

/* Sets NAME to the peer of STREAM. Returns 0, or -EACCES if it is another user's process. */
int hk_listener_peer(const struct hk_listener *listener, nng_stream *stream,
		     char name[HK_REJECTIONS_PEER_BYTES]);

/* Makes the TLS configuration of this collector's listeners: its certificate and the authorities of
 * clients. The caller frees it. Returns 0, or -errno with the reason in PROBLEM. */
int hk_listener_tls(const struct hk_collector_options *options, struct nng_tls_config **ret_tls,
		    char problem[HK_ACCESS_PROBLEM_BYTES]);

#endif
