/* http_client.h: one client of http.h, and the server that it belongs to. Private to this folder.
 * NNG's threads change a client until it waits for the collector's thread. */
#ifndef HK_COLLECTOR_HTTP_HTTP_CLIENT_H
#define HK_COLLECTOR_HTTP_HTTP_CLIENT_H

#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/http/http_head.h"
#include "collector/live/live.h"
#include "collector/metrics/page_cache.h"
#include "collector/server/listener.h"
#include "collector/server/policy.h"
#include "collector/server/rejections.h"

#define HK_HTTP_TOKEN_BYTES 16u
#define HK_HTTP_PLAIN "text/plain; charset=utf-8"

enum hk_http_state {
	STATE_READING,
	STATE_WAITING, /* waits for the collector's thread */
	STATE_SENDING,
	STATE_LEAVING, /* the answer is sent; the client shall close */
};

enum hk_http_path { PATH_METRICS, PATH_HEALTH, PATH_LIVE };

struct hk_http_client {
	struct hk_http_client *prev, *next; /* lock */
	struct hk_http *http;
	nng_stream *stream;
	nng_aio *aio; /* one operation at a time */
	char peer[HK_REJECTIONS_PEER_BYTES];
	uint64_t deadline_ns;	  /* deadline of this state */
	enum hk_http_state state; /* lock */
	bool ended;		  /* may be freed; lock */
	bool opening;		  /* must not be freed yet; lock */
	char head[HK_HTTP_HEAD_BYTES];
	size_t got;
	/* The request. */
	enum hk_http_path path;
	const char *target;	 /* lies in `head` */
	uint64_t asked;		 /* number of its request for a live page, 0: not yet */
	uint64_t waits_since_ns; /* monotonic */
	bool bodyless;		 /* HEAD */
	enum hk_exposition_format format;
	const char *user; /* owned by the policy */
	/* The answer. */
	char reply[768];
	size_t reply_size, sent;
	struct hk_page *body;
	size_t body_size; /* bytes of the body to send */
};

struct hk_http {
	struct hk_listener listener;
	const struct hk_policy *policy;
	struct hk_rejections *refusals;
	nng_tls_config *tls;
	int event_fd;
	pthread_mutex_t lock;
	struct hk_http_client *clients; /* oldest first; lock */
	uint32_t count, ended;		/* lock */
	uint32_t waiting;		/* clients that wait for an answer; lock */
	struct hk_page_cache pages;
	struct hk_live *live;
	uint64_t asked; /* number of the newest request for a live page */
	char site[HK_REQUEST_URL_BYTES], url[HK_REQUEST_URL_BYTES + sizeof("/metrics")];
	char own_token[2 * HK_HTTP_TOKEN_BYTES + 1]; /* "": rights are those of the policy */
};

/* Starts the answer STATUS with BODY, or with TEXT if BODY is NULL. Takes over one use of BODY. */
void hk_http_reply(struct hk_http_client *client, const char *status, const char *type,
		   struct hk_page *body, const char *text);
void hk_http_refuse(struct hk_http_client *client, const char *status, const char *text);

/* Returns the first client that waits and matches, or NULL. Only this thread frees clients, so a
 * found client remains valid. */
struct hk_http_client *hk_http_find_waiting(struct hk_http *http,
					    bool (*matches)(const struct hk_http_client *client,
							    uint64_t number),
					    uint64_t number);

#endif
