#include "collector/uplink/uplink_nng.h"

#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/uplink/dialer.h"
#include "collector/uplink/uplink_kind.h"
#include "collector/uplink/watchdog.h"
#include "wire/dial.h"
#include "wire/message.h"
#include "wire/nng_error.h"
#include "wire/request.h"

#define SECOND_NS UINT64_C(1000000000)
#define PATIENCE_NS (5 * SECOND_NS) /* of a connection that does not come, or does not answer */
#define PATIENCE_MAX_NS (60 * SECOND_NS) /* where answers take long because the network is slow */
#define LOST_PATIENCES 4u		 /* for one answer, while others come */
#define PAUSE_NS (SECOND_NS / 10)
#define PAUSE_MAX_NS (2 * SECOND_NS)
#define REFUSED_PAUSE_MAX_NS (10 * SECOND_NS) /* where somebody has to do something about it */
#define NEVER_MS 3600000
#define PROBLEM_BYTES 256u
#define SETTLED_ANSWERS 16u /* so many answers, and the connection is a good one */

enum slot_state {
	SLOT_FREE = 0,
	SLOT_SENDING = 1,   /* NNG's */
	SLOT_RECEIVING = 2, /* NNG's */
	SLOT_DONE = 3,
};

/* Why there is no connection. */
enum why {
	WHY_CLOSED,
	WHY_SILENCE,
	WHY_NO_LISTENER,
	WHY_UNREACHABLE,
	WHY_HANGS_UP,
	WHY_TLS,
	WHY_PROTOCOL,
	WHY_REFUSED, /* our token */
	WHY_OTHER,
};

struct slot {
	struct nng_uplink *uplink;
	nng_ctx ctx;
	nng_aio *aio;
	_Atomic int state; /* enum slot_state: which thread may use the other fields */
	bool failed;
	uint64_t sent_ns, received_ns;
};

struct nng_uplink {
	struct hk_uplink base;
	const char *url;
	struct hk_access access;
	char token[HK_ACCESS_TOKEN_MAX + 1]; /* "": none */
	int event_fd;
	bool open; /* there is a socket */
	nng_socket socket;
	_Atomic bool joined, lost; /* by NNG's threads: a connection came, or went */
	uint64_t generation;
	uint64_t opened_ns, heard_ns; /* of this connection: begun, last answer */
	uint64_t retry_ns;	      /* without a socket: not before */
	uint64_t pause_ns, patience_ns;
	uint32_t answers;	     /* of this connection */
	uint32_t told;		     /* reasons that the log has, bits 1 << enum why */
	char problem[PROBLEM_BYTES]; /* why there is no connection; "": there is one, or none was
					tried yet */
	struct hk_dialer dialer;
	struct slot slots[HK_UPLINK_SLOTS];
};

static struct nng_uplink *of(struct hk_uplink *base)
{
	return (struct nng_uplink *)(void *)base;
}

static const struct nng_uplink *of_const(const struct hk_uplink *base)
{
	return (const struct nng_uplink *)(const void *)base;
}

static void wake(struct nng_uplink *uplink)
{
	uint64_t one = 1;
	(void)!write(uplink->event_fd, &one, sizeof(one));
}

/* ---- on NNG's threads ---- */

static void slot_done(void *data)
{
	struct slot *slot = data;
	bool failed = nng_aio_result(slot->aio) != 0;
	if (atomic_load_explicit(&slot->state, memory_order_acquire) == SLOT_SENDING) {
		if (!failed) {
			atomic_store_explicit(&slot->state, SLOT_RECEIVING, memory_order_release);
			nng_ctx_recv(slot->ctx, slot->aio);
			return;
		}
		nng_msg_free(nng_aio_get_msg(slot->aio));
	}
	slot->received_ns = hk_clock_monotonic_ns();
	slot->failed = failed;
	/* Publishes the message. Pairs with the acquire that reads the state. */
	atomic_store_explicit(&slot->state, SLOT_DONE, memory_order_release);
	wake(slot->uplink);
}

static void pipe_changed(nng_pipe pipe, nng_pipe_ev event, void *data)
{
	struct nng_uplink *uplink = data;
	(void)pipe;
	atomic_store(event == NNG_PIPE_EV_ADD_POST ? &uplink->joined : &uplink->lost, true);
	wake(uplink);
}

/* ---- the socket ---- */

static int set_up(struct nng_uplink *uplink)
{
	nng_socket socket = uplink->socket;
	/* The uplink, not NNG, decides what is sent again and when to reconnect. */
	nng_socket_set_ms(socket, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE);
	nng_socket_set_ms(socket, NNG_OPT_RECONNMINT, NEVER_MS);
	nng_socket_set_ms(socket, NNG_OPT_RECONNMAXT, NEVER_MS);
	nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, HK_MESSAGE_BYTES_MAX);
	int r = nng_pipe_notify(socket, NNG_PIPE_EV_ADD_POST, pipe_changed, uplink);
	r = r ? r : nng_pipe_notify(socket, NNG_PIPE_EV_REM_POST, pipe_changed, uplink);
	for (unsigned i = 0; i < HK_UPLINK_SLOTS && r == 0; i++) {
		r = nng_ctx_open(&uplink->slots[i].ctx, socket);
	}
	return r ? hk_nng_errno(r)
		 : hk_dialer_begin(&uplink->dialer, socket, uplink->url, &uplink->access,
				   uplink->event_fd);
}

static int read_token(struct nng_uplink *uplink, char problem[HK_ACCESS_PROBLEM_BYTES])
{
	*problem = '\0';
	return uplink->access.token_file
		   ? hk_access_token(uplink->access.token_file, uplink->token, problem)
		   : 0;
}

static int connection_begin(struct nng_uplink *uplink, uint64_t now_ns)
{
	/* The token file may have been replaced since. */
	int r = read_token(uplink, uplink->dialer.problem);
	r = r < 0 ? r : hk_nng_errno(nng_req0_open(&uplink->socket));
	if (r < 0) {
		return r;
	}
	uplink->open = true;
	uplink->opened_ns = uplink->heard_ns = now_ns;
	uplink->answers = 0;
	atomic_store(&uplink->joined, false);
	atomic_store(&uplink->lost, false);
	return set_up(uplink);
}

static Hk__Response *take_response(struct slot *slot)
{
	nng_msg *message = nng_aio_get_msg(slot->aio);
	ProtobufCMessage *response = NULL;
	int r = hk_message_unpack(&hk__response__descriptor, nng_msg_body(message),
				  nng_msg_len(message), &response);
	nng_msg_free(message);
	return r < 0 ? NULL : (Hk__Response *)response;
}

/* A root that refuses answers and closes the connection. The close may be seen before the answer.
 */
static void slot_clear(struct slot *slot, char refusal[PROBLEM_BYTES])
{
	bool answered =
	    atomic_load_explicit(&slot->state, memory_order_acquire) == SLOT_DONE && !slot->failed;
	Hk__Response *response = answered ? take_response(slot) : NULL;
	if (response) {
		if (response->error == -EACCES) {
			snprintf(refusal, PROBLEM_BYTES, "%s", response->text);
		}
		hk__response__free_unpacked(response, NULL);
	}
	atomic_store(&slot->state, SLOT_FREE);
}

/* Ends the connection. Sets REFUSAL to the root's reason, if it refused, else to "". */
static void connection_end(struct nng_uplink *uplink, char refusal[PROBLEM_BYTES])
{
	*refusal = '\0';
	if (!uplink->open) {
		return;
	}
	hk_watchdog_begin();
	nng_close(uplink->socket);
	hk_watchdog_end();
	hk_dialer_end(&uplink->dialer); /* may take long: it may be checking a certificate */
	hk_watchdog_begin();
	for (unsigned i = 0; i < HK_UPLINK_SLOTS; i++) {
		nng_aio_wait(uplink->slots[i].aio);
		slot_clear(&uplink->slots[i], refusal);
	}
	hk_watchdog_end();
	uplink->open = false;
	uplink->generation++;
	atomic_store(&uplink->joined, false);
	atomic_store(&uplink->lost, false);
}

static void uplink_free(struct hk_uplink *base)
{
	struct nng_uplink *uplink = of(base);
	connection_end(uplink, uplink->problem);
	for (unsigned i = 0; i < HK_UPLINK_SLOTS; i++) {
		if (uplink->slots[i].aio) {
			nng_aio_free(uplink->slots[i].aio);
		}
	}
	if (uplink->event_fd >= 0) {
		close(uplink->event_fd);
	}
	free(uplink);
}

/* ---- looking after it ---- */

static int uplink_fd(const struct hk_uplink *base)
{
	const struct nng_uplink *uplink = of_const(base);
	return uplink->event_fd;
}

static bool is_connected(const struct nng_uplink *uplink)
{
	return uplink->open && atomic_load(&uplink->joined) && !atomic_load(&uplink->lost);
}

static bool uplink_connected(const struct hk_uplink *base)
{
	return is_connected(of_const(base));
}

static bool uplink_replied(const struct hk_uplink *base)
{
	const struct nng_uplink *uplink = of_const(base);
	return uplink->answers > 0;
}

static const char *uplink_problem(const struct hk_uplink *base)
{
	const struct nng_uplink *uplink = of_const(base);
	return uplink->problem;
}

static uint64_t uplink_generation(const struct hk_uplink *base)
{
	const struct nng_uplink *uplink = of_const(base);
	return uplink->generation;
}

/* Returns since when an answer has been awaited, or UINT64_MAX if no answer is. */
static uint64_t waiting_since(const struct nng_uplink *uplink)
{
	uint64_t oldest = UINT64_MAX;
	for (unsigned i = 0; i < HK_UPLINK_SLOTS; i++) {
		const struct slot *slot = &uplink->slots[i];
		int state = atomic_load_explicit(&slot->state, memory_order_acquire);
		if ((state == SLOT_SENDING || state == SLOT_RECEIVING) && slot->sent_ns < oldest) {
			oldest = slot->sent_ns;
		}
	}
	return oldest;
}

/* Returns the time at which the connection is given up if nothing happens. */
static uint64_t deadline(const struct nng_uplink *uplink)
{
	if (!is_connected(uplink)) {
		return uplink->opened_ns + PATIENCE_NS;
	}
	uint64_t oldest = waiting_since(uplink);
	/* A peer that has never answered gets the time of a connection attempt. */
	uint64_t patience = uplink->answers > 0 ? uplink->patience_ns : PATIENCE_NS;
	if (oldest == UINT64_MAX) {
		return UINT64_MAX;
	}
	if (oldest >= uplink->heard_ns) {
		return oldest + patience;
	}
	/* If other requests are answered, this answer may be lost. */
	uint64_t silence = uplink->heard_ns + patience, lost = oldest + LOST_PATIENCES * patience;
	return silence < lost ? silence : lost;
}

static uint64_t uplink_due(const struct hk_uplink *base)
{
	const struct nng_uplink *uplink = of_const(base);
	return uplink->open ? deadline(uplink) : uplink->retry_ns;
}

/* Returns the text of WHY for the log and `status`. */
static const char *text_of(enum why why)
{
	static const char *const texts[] = {
	    [WHY_CLOSED] = "the root closed it",
	    [WHY_SILENCE] = "no answer",
	    [WHY_NO_LISTENER] = "no program listens there",
	    [WHY_UNREACHABLE] = "it cannot be reached from here: the address, the network, or a "
				"firewall",
	    [WHY_TLS] = ("no TLS: --tls-ca must name the certificate that the root shows, and "
			 "--tls-cert one that it trusts if it asks"),
	    [WHY_HANGS_UP] =
		"the connection is closed at once: by a proxy or tunnel without a root "
		"behind it, or by a root that wants tls+tcp://",
	    [WHY_PROTOCOL] = "the program there, or a proxy on the way, does not answer as a "
			     "collector does, or it wants tls+tcp://",
	};
	return why < sizeof(texts) / sizeof(texts[0]) ? texts[why] : "";
}

static enum why why_of(const char *url, int error)
{
	switch (error) {
	case -ECONNREFUSED:
		return WHY_NO_LISTENER;
	case -EHOSTUNREACH:
		return WHY_UNREACHABLE;
	case -ETIMEDOUT:
		return WHY_SILENCE;
	case -EKEYREJECTED:
		return WHY_TLS;
	case -EPIPE:
		return WHY_HANGS_UP;
	case -EPROTO:
		/* A root that requires a certificate closes connections without one. */
		return hk_access_url(url).transport == HK_TRANSPORT_TLS ? WHY_TLS : WHY_PROTOCOL;
	default:
		return WHY_OTHER;
	}
}

/* Gives up the connection for the reason WHY, described by TEXT. Each reason is logged once between
 * two connections. A repeated reason makes the pauses longer. */
static void give_up(struct nng_uplink *uplink, uint64_t now_ns, enum why why, const char *text)
{
	char refusal[PROBLEM_BYTES];
	connection_end(uplink, refusal);
	if (*refusal) {
		why = WHY_REFUSED;
		text = refusal;
	}
	snprintf(uplink->problem, sizeof(uplink->problem), "%s", *text ? text : text_of(why));
	if (!(uplink->told & 1u << why)) {
		hk_warning("no connection to the root url=%s why=%s; what is kept here waits",
			   uplink->url, uplink->problem);
		uplink->told |= 1u << why;
	}
	uint64_t most = why >= WHY_TLS ? REFUSED_PAUSE_MAX_NS : PAUSE_MAX_NS;
	uplink->pause_ns = uplink->pause_ns < most ? uplink->pause_ns : most;
	uplink->retry_ns = now_ns + uplink->pause_ns;
	uplink->pause_ns = 2 * uplink->pause_ns;
}

static void uplink_refused(struct hk_uplink *base, uint64_t now_ns, const char *text)
{
	struct nng_uplink *uplink = of(base);
	give_up(uplink, now_ns, WHY_REFUSED, text);
}

static void uplink_senseless(struct hk_uplink *base, uint64_t now_ns)
{
	struct nng_uplink *uplink = of(base);
	give_up(uplink, now_ns, WHY_PROTOCOL, "");
}

/* Returns whether the connection, or the attempt, is to be given up, and sets *RET_WHY to the
 * reason. */
static bool is_useless(const struct nng_uplink *uplink, uint64_t now_ns, enum why *ret_why)
{
	int error = hk_dialer_error(&uplink->dialer);
	if (error < 0) {
		*ret_why = why_of(uplink->url, error);
		return true;
	}
	*ret_why = atomic_load(&uplink->lost) ? WHY_CLOSED : WHY_SILENCE;
	return *ret_why == WHY_CLOSED || now_ns >= deadline(uplink);
}

static void uplink_tend(struct hk_uplink *base, uint64_t now_ns)
{
	struct nng_uplink *uplink = of(base);
	uint64_t count;
	enum why why;
	(void)!read(uplink->event_fd, &count, sizeof(count));
	if (uplink->open && is_useless(uplink, now_ns, &why)) {
		const char *problem = uplink->dialer.problem;
		if (why == WHY_SILENCE && uplink->answers > 0) {
			uplink->patience_ns = 2 * uplink->patience_ns < PATIENCE_MAX_NS
						  ? 2 * uplink->patience_ns
						  : PATIENCE_MAX_NS;
		}
		bool said = why == WHY_OTHER || why == WHY_TLS;
		const char *text = said ? problem : "";
		if (why == WHY_OTHER && !*text) {
			text = strerror(-hk_dialer_error(&uplink->dialer));
		}
		give_up(uplink, now_ns, why, text);
	}
	if (!uplink->open && now_ns >= uplink->retry_ns) {
		int r = connection_begin(uplink, now_ns);
		if (r < 0) {
			const char *problem = uplink->dialer.problem;
			give_up(uplink, now_ns, WHY_OTHER, *problem ? problem : strerror(-r));
		}
	}
}

/* ---- exchanges ---- */

static int pack(const Hk__Request *request, nng_msg **ret_message)
{
	size_t size = protobuf_c_message_get_packed_size(&request->base);
	if (size > HK_MESSAGE_BYTES_MAX) {
		return -EMSGSIZE;
	}
	int r = hk_nng_errno(nng_msg_alloc(ret_message, size));
	if (r == 0) {
		protobuf_c_message_pack(&request->base, nng_msg_body(*ret_message));
	}
	return r;
}

static int uplink_send(struct hk_uplink *base, const Hk__Request *request)
{
	struct nng_uplink *uplink = of(base);
	unsigned i = 0;
	nng_msg *message;
	while (i < HK_UPLINK_SLOTS && atomic_load(&uplink->slots[i].state) != SLOT_FREE) {
		i++;
	}
	if (i == HK_UPLINK_SLOTS || !is_connected(uplink)) {
		return -EAGAIN;
	}
	Hk__Request shown = *request;
	shown.token.data = (uint8_t *)uplink->token;
	shown.token.len = strlen(uplink->token);
	int r = pack(&shown, &message);
	if (r < 0) {
		return r;
	}
	struct slot *slot = &uplink->slots[i];
	nng_aio_set_msg(slot->aio, message);
	slot->failed = false;
	slot->sent_ns = hk_clock_monotonic_ns();
	atomic_store_explicit(&slot->state, SLOT_SENDING, memory_order_release);
	nng_ctx_send(slot->ctx, slot->aio);
	return (int)i;
}

static void note_answer(struct nng_uplink *uplink, const struct slot *slot,
			const Hk__Response *response)
{
	uplink->heard_ns =
	    slot->received_ns > uplink->heard_ns ? slot->received_ns : uplink->heard_ns;
	if (!response || response->error == -EACCES) {
		return; /* the connection is about to be given up */
	}
	if (uplink->answers == 0) {
		hk_info("connected to the root url=%s", uplink->url);
		uplink->told = 0;
		*uplink->problem = '\0';
	}
	uplink->answers++;
	uplink->pause_ns = PAUSE_NS;
	if (uplink->answers >= SETTLED_ANSWERS) {
		uplink->patience_ns = PATIENCE_NS;
	}
}

static int uplink_next(struct hk_uplink *base, struct hk_uplink_reply *ret_reply)
{
	struct nng_uplink *uplink = of(base);
	for (unsigned i = 0; i < HK_UPLINK_SLOTS; i++) {
		struct slot *slot = &uplink->slots[i];
		if (atomic_load_explicit(&slot->state, memory_order_acquire) != SLOT_DONE) {
			continue;
		}
		if (slot->failed) {
			hk_debug("exchange failed error=%s",
				 nng_strerror(nng_aio_result(slot->aio)));
			/* A request in a slot waits until the connection is given up. */
			atomic_store(&uplink->lost, true);
			wake(uplink);
			return 0;
		}
		*ret_reply = (struct hk_uplink_reply){
		    .slot = i,
		    .response = take_response(slot),
		    .sent_ns = slot->sent_ns,
		    .received_ns = slot->received_ns,
		};
		atomic_store(&slot->state, SLOT_FREE);
		note_answer(uplink, slot, ret_reply->response);
		return 1;
	}
	return 0;
}

/* ---- the kind ---- */

static const struct hk_uplink_kind kind = {
    .free = uplink_free,
    .fd = uplink_fd,
    .tend = uplink_tend,
    .due = uplink_due,
    .connected = uplink_connected,
    .replied = uplink_replied,
    .problem = uplink_problem,
    .generation = uplink_generation,
    .send = uplink_send,
    .next = uplink_next,
    .refused = uplink_refused,
    .senseless = uplink_senseless,
};

int hk_uplink_nng_open(const char *url, const struct hk_access *access,
		       struct hk_uplink **ret_uplink, char problem[HK_ACCESS_PROBLEM_BYTES])
{
	struct nng_uplink *uplink = calloc(1, sizeof(*uplink));
	*problem = '\0';
	if (!uplink) {
		return -ENOMEM;
	}
	uplink->base.kind = &kind;
	uplink->url = url;
	uplink->access = *access;
	uplink->pause_ns = PAUSE_NS;
	uplink->patience_ns = PATIENCE_NS;
	uplink->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = uplink->event_fd < 0 ? -errno : hk_dial_check(url, access, problem);
	r = r < 0 ? r : read_token(uplink, problem);
	for (unsigned i = 0; i < HK_UPLINK_SLOTS && r == 0; i++) {
		uplink->slots[i].uplink = uplink;
		r = hk_nng_errno(
		    nng_aio_alloc(&uplink->slots[i].aio, slot_done, &uplink->slots[i]));
	}
	if (r < 0) {
		uplink_free(&uplink->base);
		return r;
	}
	*ret_uplink = &uplink->base;
	return 0;
}
