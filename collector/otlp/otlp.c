#include "collector/otlp/otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/model/http_url.h"
#include "collector/otlp/headers.h"
#include "collector/otlp/post.h"
#include "wire/access.h"
#include "wire/dial.h"

#define SECOND_NS UINT64_C(1000000000)
#define TIMEOUT_NS (10 * SECOND_NS) /* of an exchange; an interval, if that is shorter */
#define BACKOFF_MAX_NS (60 * SECOND_NS)
#define SPACING 50u /* making messages takes at most 1/50 of the time */
#define SIGNAL_PATH "/v1/metrics"
#define URL_BYTES (HK_HTTP_URL_HOST_BYTES + HK_HTTP_URL_PATH_BYTES + 64)
#define REASON_BYTES (HK_OTLP_SAID_BYTES + 64)

struct hk_otlp {
	struct hk_post *post;
	struct nng_tls_config *tls;
	char url[URL_BYTES]; /* whole, for the log */
	char *head;	     /* of a request, up to the size of its body */
	uint64_t interval_ns, timeout_ns;
	uint64_t next_ns; /* monotonic: the next message is due */
	bool sending;
	bool rejecting;	   /* the last message was taken in part */
	uint64_t failures; /* since a message was taken last */
	uint32_t told;	   /* reasons that the log has since then: bits 1 << kind_of */
	struct hk_otlp_counts counts;
};

/* ---- what became of a message ---- */

static const char *reason_of(int error)
{
	switch (error) {
	case -ECONNREFUSED:
		return "there is no listener, or it hung up";
	case -EHOSTUNREACH:
		return "the host cannot be reached";
	case -ETIMEDOUT:
		return "no answer in time";
	case -EINVAL:
		return "no such host is known here";
	case -EPROTO:
		return "it closed the connection without an answer";
	case -EKEYREJECTED:
		return "TLS failed: its certificate is not trusted (--otlp-ca), not for this name, "
		       "or it does not speak TLS";
	case -EBADMSG:
		return "the answer is not that of a receiver of OTLP/HTTP";
	case -EMSGSIZE:
		return "the answer is too long";
	default:
		return strerror(-error);
	}
}

/* Numbers the kinds of reasons, each of which the log says once until a message is taken. */
static uint32_t kind_of(int error, unsigned status)
{
	static const int known[] = {-ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT, -EINVAL,
				    -EPROTO,	   -EKEYREJECTED, -EBADMSG,   -EMSGSIZE};
	uint32_t count = sizeof(known) / sizeof(known[0]);
	if (error == 0) {
		return count + 1 + status / 100;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (known[i] == error) {
			return i;
		}
	}
	return count;
}

static void describe(int error, const struct hk_otlp_answer *answer, char text[REASON_BYTES])
{
	char wait[32] = "";
	if (error < 0) {
		snprintf(text, REASON_BYTES, "%s", reason_of(error));
		return;
	}
	if (answer->wait_s > 0) {
		snprintf(wait, sizeof(wait), ", retry after %" PRIu32 " s", answer->wait_s);
	}
	snprintf(text, REASON_BYTES, "answer %u%s%s%s", answer->status, wait,
		 *answer->said ? ": " : "", answer->said);
}

/* Doubles the interval with each failure, up to a minute, unless it is longer itself. */
static uint64_t backoff(const struct hk_otlp *otlp)
{
	uint64_t wait = otlp->interval_ns;
	for (uint64_t i = 1; i < otlp->failures && wait < BACKOFF_MAX_NS; i++) {
		wait = 2 * wait < BACKOFF_MAX_NS ? 2 * wait : BACKOFF_MAX_NS;
	}
	return wait;
}

static void fail(struct hk_otlp *otlp, int error, const struct hk_otlp_answer *answer,
		 uint64_t now_ns)
{
	char reason[REASON_BYTES];
	uint32_t kind = kind_of(error, answer->status);
	otlp->counts.failed++;
	otlp->counts.accepted = false;
	otlp->failures++;
	if (!(otlp->told & 1u << kind)) {
		describe(error, answer, reason);
		hk_warning("cannot push metrics to %s: %s", otlp->url, reason);
		otlp->told |= 1u << kind;
	}
	uint64_t wait = backoff(otlp), asked = answer->wait_s * SECOND_NS;
	otlp->next_ns = now_ns + (error == 0 && asked > wait ? asked : wait);
}

static void succeed(struct hk_otlp *otlp, const struct hk_otlp_answer *answer)
{
	bool rejecting = answer->rejected > 0 || *answer->said;
	otlp->counts.taken++;
	otlp->counts.accepted = true;
	otlp->counts.rejected += answer->rejected;
	if (otlp->failures > 0) {
		hk_info("metrics are pushed to %s again, after %" PRIu64 " failures", otlp->url,
			otlp->failures);
	}
	if (rejecting && !otlp->rejecting) {
		hk_warning("%s has rejected %" PRIu64 " data points: %s", otlp->url,
			   answer->rejected, answer->said);
	}
	otlp->rejecting = rejecting;
	otlp->failures = 0;
	otlp->told = 0;
}

bool hk_otlp_due(struct hk_otlp *otlp, uint64_t now_ns)
{
	struct hk_otlp_answer answer = {0};
	int error;
	if (otlp->sending && hk_post_ended(otlp->post, &error, &answer)) {
		otlp->sending = false;
		if (error == 0 && answer.status < 300) {
			succeed(otlp, &answer);
		} else {
			fail(otlp, error, &answer, now_ns);
		}
	}
	return !otlp->sending && now_ns >= otlp->next_ns;
}

void hk_otlp_send(struct hk_otlp *otlp, uint8_t *bytes, size_t size, uint64_t begin_ns)
{
	static const struct hk_otlp_answer none;
	uint64_t spacing = (hk_clock_monotonic_ns() - begin_ns) * SPACING;
	char *head = NULL;
	int r = bytes ? 0 : -ENOMEM;
	if (r == 0 && asprintf(&head, "%sContent-Length: %zu\r\n\r\n", otlp->head, size) < 0) {
		free(bytes);
		r = -ENOMEM;
	}
	otlp->next_ns = begin_ns + (spacing > otlp->interval_ns ? spacing : otlp->interval_ns);
	r = r < 0 ? r : hk_post_begin(otlp->post, head, bytes, size, otlp->timeout_ns);
	otlp->sending = r == 0;
	if (r < 0) {
		fail(otlp, r, &none, begin_ns);
	}
}

void hk_otlp_counts(const struct hk_otlp *otlp, struct hk_otlp_counts *ret_counts)
{
	*ret_counts = otlp->counts;
}

/* ---- open and free ---- */

/* Returns the file of authorities: OPTIONS's, or the system's. NULL: there is none. */
static const char *authorities_of(const struct hk_collector_options *options)
{
	static const char *const usual[] = {"/etc/ssl/certs/ca-certificates.crt",
					    "/etc/pki/tls/certs/ca-bundle.crt",
					    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
	if (options->otlp_authorities) {
		return options->otlp_authorities;
	}
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		if (access(usual[i], R_OK) == 0) {
			return usual[i];
		}
	}
	return NULL;
}

static int open_tls(struct hk_otlp *otlp, const struct hk_collector_options *options,
		    const struct hk_http_url *url, char problem[HK_ACCESS_PROBLEM_BYTES])
{
	const struct hk_access access = {.authorities = authorities_of(options)};
	char dialed[URL_BYTES];
	if (!access.authorities) {
		snprintf(problem, HK_ACCESS_PROBLEM_BYTES,
			 "--otlp %s: --otlp-ca FILE must name the certificates of authorities, "
			 "this system has none at a usual place",
			 options->otlp);
		return -EINVAL;
	}
	snprintf(dialed, sizeof(dialed), "tls+tcp://%s:%s", url->host, url->port);
	return hk_dial_tls(&access, dialed, &otlp->tls, problem);
}

/* Makes the head of requests to URL, with the headers of OPTIONS's file. */
static int make_head(struct hk_otlp *otlp, const struct hk_collector_options *options,
		     const struct hk_http_url *url, char problem[HK_ACCESS_PROBLEM_BYTES])
{
	char *headers = NULL;
	int r = options->otlp_headers
		    ? hk_otlp_headers_read(options->otlp_headers, &headers, problem)
		    : 0;
	if (r < 0) {
		return r;
	}
	size_t path = strlen(url->path), signal = strlen(SIGNAL_PATH);
	bool whole = path >= signal && strcmp(url->path + path - signal, SIGNAL_PATH) == 0;
	const char *more = whole ? "" : SIGNAL_PATH;
	snprintf(otlp->url, sizeof(otlp->url), "%s://%s:%s%s%s", url->tls ? "https" : "http",
		 url->host, url->port, url->path, more);
	if (asprintf(&otlp->head,
		     "POST %s%s HTTP/1.1\r\nHost: %s:%s\r\nUser-Agent: hooktrace/" HK_VERSION
		     "\r\nContent-Type: application/x-protobuf\r\nConnection: close\r\n%s",
		     url->path, more, url->host, url->port, headers ? headers : "") < 0) {
		otlp->head = NULL;
		r = -ENOMEM;
	}
	if (headers) {
		explicit_bzero(headers, strlen(headers));
	}
	free(headers);
	return r;
}

static void announce(const struct hk_otlp *otlp, const struct hk_collector_options *options,
		     const struct hk_http_url *url)
{
	char dialed[URL_BYTES];
	snprintf(dialed, sizeof(dialed), "tcp://%s:%s", url->host, url->port);
	hk_info("pushing metrics to %s", otlp->url);
	if (options->otlp_headers && !url->tls && !hk_access_url(dialed).loopback) {
		hk_warning("the headers of %s go to %s without encryption: use https",
			   options->otlp_headers, otlp->url);
	}
}

int hk_otlp_open(const struct hk_collector_options *options, struct hk_otlp **ret_otlp,
		 char problem[HK_ACCESS_PROBLEM_BYTES])
{
	struct hk_otlp *otlp = calloc(1, sizeof(*otlp));
	struct hk_http_url url;
	*problem = '\0';
	if (!otlp) {
		return -ENOMEM;
	}
	int r = hk_http_url_parse(options->otlp, &url);
	r = r < 0 ? r : make_head(otlp, options, &url, problem);
	r = r == 0 && url.tls ? open_tls(otlp, options, &url, problem) : r;
	if (r == 0) {
		otlp->post = hk_post_new(&url, otlp->tls);
		r = otlp->post ? 0 : -ENOMEM;
	}
	if (r < 0) {
		hk_otlp_free(otlp);
		return r;
	}
	otlp->interval_ns = options->otlp_interval_ns;
	otlp->timeout_ns = otlp->interval_ns < TIMEOUT_NS ? otlp->interval_ns : TIMEOUT_NS;
	otlp->timeout_ns = otlp->timeout_ns < SECOND_NS ? SECOND_NS : otlp->timeout_ns;
	/* Collectors of a cluster start at the same time, and shall not push at the same time. */
	otlp->next_ns = hk_clock_monotonic_ns() +
			otlp->interval_ns / 64 * ((uint64_t)getpid() * 2654435761u % 64);
	announce(otlp, options, &url);
	*ret_otlp = otlp;
	return 0;
}

struct hk_otlp *hk_otlp_free(struct hk_otlp *otlp)
{
	if (otlp) {
		hk_post_free(otlp->post);
		if (otlp->tls) {
			nng_tls_config_free(otlp->tls);
		}
		if (otlp->head) {
			explicit_bzero(otlp->head, strlen(otlp->head));
		}
		free(otlp->head);
		free(otlp);
	}
	return NULL;
}
