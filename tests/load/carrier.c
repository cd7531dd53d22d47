#include "carrier.h"

#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/engine/connection.h"
#include "collector/engine/stream.h"
#include "collector/engine/subject.h"
#include "collector/uplink/uplink_open.h"
#include "wire/message.h"

#define ANSWER_TIMEOUT_MS 30000

struct carrier {
	const char *url;
	unsigned leaves;
	nng_socket *sockets; /* of each leaf, to a root */
	struct hk_engine *engine;
	unsigned partitions; /* of the engine */
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "load: %s: %s\n", what, why);
	exit(1);
}

/* ---- a root ---- */

static void open_sockets(struct carrier *carrier)
{
	carrier->sockets = calloc(carrier->leaves, sizeof(*carrier->sockets));
	if (!carrier->sockets) {
		fail("memory", strerror(ENOMEM));
	}
	for (unsigned i = 0; i < carrier->leaves; i++) {
		nng_socket *socket = &carrier->sockets[i];
		int r = nng_req0_open(socket);
		r = r ? r : nng_socket_set_ms(*socket, NNG_OPT_RECVTIMEO, ANSWER_TIMEOUT_MS);
		r = r ? r : nng_socket_set_ms(*socket, NNG_OPT_REQ_RESENDTIME, -1);
		r = r ? r : nng_dial(*socket, carrier->url, NULL, 0);
		if (r) {
			fail(carrier->url, nng_strerror(r));
		}
	}
}

static Hk__Response *ask(nng_socket socket, const void *bytes, size_t size)
{
	ProtobufCMessage *response;
	nng_msg *message;
	int r = nng_msg_alloc(&message, 0);
	r = r ? r : nng_msg_append(message, bytes, size);
	r = r ? r : nng_sendmsg(socket, message, 0);
	r = r ? r : nng_recvmsg(socket, &message, 0);
	if (r) {
		fail("report", nng_strerror(r));
	}
	r = hk_message_unpack(&hk__response__descriptor, nng_msg_body(message),
			      nng_msg_len(message), &response);
	nng_msg_free(message);
	if (r < 0) {
		fail("answer", strerror(-r));
	}
	return (Hk__Response *)response;
}

/* ---- an engine ---- */

static void open_engine(struct carrier *carrier)
{
	static const struct hk_access access;
	char why[HK_ACCESS_PROBLEM_BYTES] = "", problem[HK_ENGINE_PROBLEM_BYTES] = "";
	int r = hk_engine_open(carrier->url, &access, NULL, NULL, &carrier->engine, why);
	if (r < 0) {
		fail(carrier->url, why);
	}
	(void)hk_engine_await(carrier->engine, ANSWER_TIMEOUT_MS);
	r = hk_stream_partitions(carrier->engine, &carrier->partitions, problem);
	if (r < 0) {
		fail(carrier->url, *problem ? problem : strerror(-r));
	}
}

static void store(const struct carrier *carrier, const Hk__LeafReport *report, const void *bytes,
		  size_t size)
{
	char subject[HK_SUBJECT_BYTES], id[HK_SUBJECT_BYTES], problem[HK_ENGINE_PROBLEM_BYTES] = "";
	const uint8_t *node = report->node->id.data;
	const struct hk_engine_message message = {
	    .subject = subject, .id = id, .bytes = bytes, .size = size};
	hk_subject_report(hk_subject_partition(node, carrier->partitions), node, subject);
	hk_subject_report_id(node, report->epoch, report->number, id);
	int r = hk_engine_store(carrier->engine, &message, problem);
	if (r < 0) {
		fail("report not stored", *problem ? problem : strerror(-r));
	}
}

/* ---- either ---- */

struct carrier *carrier_open(const char *url, unsigned leaves)
{
	struct carrier *carrier = calloc(1, sizeof(*carrier));
	if (!carrier) {
		fail("memory", strerror(ENOMEM));
	}
	carrier->url = url;
	carrier->leaves = leaves;
	if (hk_uplink_is_engine(url)) {
		open_engine(carrier);
	} else {
		open_sockets(carrier);
	}
	return carrier;
}

void carrier_free(struct carrier *carrier)
{
	for (unsigned i = 0; carrier->sockets && i < carrier->leaves; i++) {
		nng_close(carrier->sockets[i]);
	}
	hk_engine_free(carrier->engine);
	free(carrier->sockets);
	free(carrier);
}

Hk__Response *carrier_bring(struct carrier *carrier, unsigned leaf, const Hk__Request *request,
			    size_t *ret_size)
{
	Hk__Response *response = NULL;
	uint8_t *bytes;
	if (hk_message_pack(&request->base, &bytes, ret_size) < 0) {
		fail("report", "too large");
	}
	if (carrier->engine) {
		store(carrier, request->report, bytes, *ret_size);
	} else {
		response = ask(carrier->sockets[leaf], bytes, *ret_size);
	}
	free(bytes);
	return response;
}
