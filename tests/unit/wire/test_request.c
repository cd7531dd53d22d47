/* A call answers, reports a missing collector, or times out; the other side is a bare REP
 * socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/request.h"

struct peer {
	char dir[32];
	char url[HK_REQUEST_URL_BYTES];
	nng_socket socket;
	const void *answer;
	size_t answer_bytes;
	char version[32]; /* as the request said */
};

static void peer_open(struct peer *peer)
{
	memset(peer, 0, sizeof(*peer));
	memcpy(peer->dir, "/tmp/hk-request-XXXXXX", 23);
	assert_non_null(mkdtemp(peer->dir));
	assert_int_equal(hk_request_url(peer->dir, peer->url), 0);
	assert_int_equal(nng_rep0_open(&peer->socket), 0);
	assert_int_equal(nng_listen(peer->socket, peer->url, NULL, 0), 0);
}

static void peer_close(struct peer *peer)
{
	nng_close(peer->socket);
	char path[64];
	snprintf(path, sizeof(path), "%s/collector.sock", peer->dir);
	unlink(path);
	rmdir(peer->dir);
}

static void *peer_answer_once(void *data)
{
	struct peer *peer = data;
	nng_msg *message;
	if (nng_recvmsg(peer->socket, &message, 0) != 0) {
		return NULL;
	}
	ProtobufCMessage *request;
	if (hk_message_unpack(&hk__request__descriptor, nng_msg_body(message), nng_msg_len(message),
			      &request) == 0) {
		snprintf(peer->version, sizeof(peer->version), "%s",
			 ((Hk__Request *)request)->version);
		protobuf_c_message_free_unpacked(request, NULL);
	}
	nng_msg_free(message);
	nng_send(peer->socket, (void *)(uintptr_t)peer->answer, peer->answer_bytes, 0);
	return peer;
}

static int call(struct peer *peer, Hk__Response **ret_response)
{
	Hk__Request request = HK__REQUEST__INIT;
	request.version = (char *)"7.7";
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, peer_answer_once, peer), 0);
	int r = hk_request_call(peer->url, &request, 600000, ret_response);
	void *answered;
	assert_int_equal(pthread_join(thread, &answered), 0);
	assert_ptr_equal(answered, peer);
	return r;
}

static void test_request_brings_the_answer(void **state)
{
	(void)state;
	struct peer peer;
	peer_open(&peer);
	Hk__Response response = HK__RESPONSE__INIT;
	response.error = -ENOENT;
	response.text = (char *)"no such job";
	uint8_t *bytes;
	assert_int_equal(hk_message_pack(&response.base, &bytes, &peer.answer_bytes), 0);
	peer.answer = bytes;
	Hk__Response *got;
	assert_int_equal(call(&peer, &got), 0);
	assert_int_equal(got->error, -ENOENT);
	assert_string_equal(got->text, "no such job");
	assert_string_equal(peer.version, "7.7");
	hk__response__free_unpacked(got, NULL);
	free(bytes);
	peer_close(&peer);
}

static void test_request_refuses_a_senseless_answer(void **state)
{
	(void)state;
	struct peer peer;
	peer_open(&peer);
	peer.answer = "\xff\xff\xff";
	peer.answer_bytes = 3;
	Hk__Response *got;
	assert_int_equal(call(&peer, &got), -EBADMSG);
	peer_close(&peer);
}

static void test_request_without_a_collector_is_refused(void **state)
{
	(void)state;
	struct peer peer;
	peer_open(&peer);
	peer_close(&peer);
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *got;
	assert_int_equal(hk_request_call(peer.url, &request, 600000, &got), -ECONNREFUSED);
	assert_int_equal(hk_request_call("nonsense", &request, 600000, &got), -EINVAL);
}

static void *hang_up_once(void *data)
{
	char greeting[8];
	int fd = accept(*(int *)data, NULL, NULL);
	/* Unread bytes would make it a reset connection. */
	(void)!recv(fd, greeting, sizeof(greeting), MSG_WAITALL);
	close(fd);
	close(*(int *)data);
	return NULL;
}

/* Killed between our connection and its greeting. */
static void test_request_to_a_collector_that_is_dying_is_refused(void **state)
{
	struct peer peer;
	pthread_t thread;
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *response;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	(void)state;
	peer_open(&peer);
	nng_close(peer.socket);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/collector.sock", peer.dir);
	unlink(address.sun_path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, hang_up_once, &fd), 0);
	assert_int_equal(hk_request_call(peer.url, &request, 600000, &response), -ECONNREFUSED);
	pthread_join(thread, NULL);
	peer_close(&peer);
}

static void test_request_gives_up_after_its_timeout(void **state)
{
	(void)state;
	struct peer peer;
	peer_open(&peer); /* listens and never answers */
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *got;
	assert_int_equal(hk_request_call(peer.url, &request, 20, &got), -ETIMEDOUT);
	peer_close(&peer);
}

static void test_request_url_knows_its_limit(void **state)
{
	(void)state;
	char path[256], url[HK_REQUEST_URL_BYTES];
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[107 - 15] = '\0'; /* "/collector.sock" has 15 bytes */
	assert_int_equal(hk_request_url(path, url), 0);
	assert_int_equal(strlen(url), 6 + 107);
	path[107 - 15] = 'a';
	path[107 - 14] = '\0';
	assert_int_equal(hk_request_url(path, url), -ENAMETOOLONG);
}

static void *hang_up(void *data)
{
	int fd = accept(*(int *)data, NULL, NULL);
	assert_true(fd >= 0);
	close(fd);
	return NULL;
}

/* So does a proxy whose server is away, and it is no stranger that talks nonsense. */
static void test_who_hangs_up_is_said_to(void **state)
{
	(void)state;
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	char url[64];
	pthread_t thread;
	Hk__Response *response;
	Hk__Request request = HK__REQUEST__INIT;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", ntohs(address.sin_port));
	assert_int_equal(pthread_create(&thread, NULL, hang_up, &fd), 0);
	assert_int_equal(hk_request_call(url, &request, 600000, &response), -EPIPE);
	assert_int_equal(pthread_join(thread, NULL), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_request_brings_the_answer),
	    cmocka_unit_test(test_request_refuses_a_senseless_answer),
	    cmocka_unit_test(test_request_without_a_collector_is_refused),
	    cmocka_unit_test(test_request_to_a_collector_that_is_dying_is_refused),
	    cmocka_unit_test(test_who_hangs_up_is_said_to),
	    cmocka_unit_test(test_request_gives_up_after_its_timeout),
	    cmocka_unit_test(test_request_url_knows_its_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
