/* The socket between a collector and the process that makes its pages: messages with their bodies,
 * and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/live/page_link.h"

static int sockets[2];

static int open_sockets(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets);
}

static int close_sockets(void **state)
{
	(void)state;
	close(sockets[0]);
	close(sockets[1]);
	return 0;
}

static void test_a_request_arrives_whole(void **state)
{
	Hk__PageRequest request = HK__PAGE_REQUEST__INIT, *taken;
	(void)state;
	request.number = 7;
	request.path = (char *)"/jobs/a%20b/data";
	request.user = (char *)"alice";
	assert_int_equal(hk_page_link_request(sockets[1], &taken), -EAGAIN);
	assert_int_equal(hk_page_link_ask(sockets[0], &request), 0);
	assert_int_equal(hk_page_link_request(sockets[1], &taken), 0);
	assert_int_equal(taken->number, 7);
	assert_string_equal(taken->path, request.path);
	assert_string_equal(taken->user, request.user);
	hk__page_request__free_unpacked(taken, NULL);
}

static void send_body(const char *text, uint64_t said)
{
	Hk__PageReply reply = HK__PAGE_REPLY__INIT;
	int body = hk_page_body_make(text, strlen(text));
	assert_true(body >= 0);
	reply.number = 9;
	reply.status = 404;
	reply.type = (char *)"text/plain";
	reply.size = said;
	assert_int_equal(hk_page_link_reply(sockets[1], &reply, body), 0);
	close(body);
}

static void test_a_reply_comes_with_its_body(void **state)
{
	static const char text[] = "a body";
	Hk__PageReply *reply;
	char *mapped;
	int body;
	(void)state;
	send_body(text, strlen(text));
	assert_int_equal(hk_page_link_take(sockets[0], &reply, &body), 0);
	assert_int_equal(reply->number, 9);
	assert_int_equal(reply->status, 404);
	assert_int_equal(hk_page_body_map(body, reply->size, &mapped), 0);
	assert_memory_equal(mapped, text, strlen(text));
	/* The other side cannot change what this one reads. */
	assert_int_equal(ftruncate(body, 0), -1);
	assert_int_equal(pwrite(body, "x", 1, 0), -1);
	munmap(mapped, reply->size);
	close(body);
	hk__page_reply__free_unpacked(reply, NULL);
}

static void test_a_body_of_another_size_is_refused(void **state)
{
	static const uint64_t sizes[] = {0, 1, 7, 4096, HK_PAGE_BODY_MAX, UINT64_MAX};
	char *mapped;
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		Hk__PageReply *reply;
		int body;
		send_body("a body", sizes[i]);
		assert_int_equal(hk_page_link_take(sockets[0], &reply, &body), 0);
		assert_true(hk_page_body_map(body, reply->size, &mapped) < 0);
		close(body);
		hk__page_reply__free_unpacked(reply, NULL);
	}
}

static void test_a_file_that_can_change_is_refused(void **state)
{
	char *mapped;
	int file = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	(void)state;
	assert_int_equal(write(file, "text", 4), 4);
	assert_int_equal(hk_page_body_map(file, 4, &mapped), -EBADF);
	close(file);
	assert_int_equal(hk_page_body_map(sockets[0], 4, &mapped), -EBADF);
}

static void test_what_is_no_message_is_refused(void **state)
{
	Hk__PageReply *reply;
	Hk__PageRequest *request;
	int body;
	char large[32768] = {0};
	(void)state;
	assert_int_equal(send(sockets[1], "\xff\xff\xff", 3, 0), 3);
	assert_int_equal(hk_page_link_take(sockets[0], &reply, &body), -EBADMSG);
	assert_int_equal(send(sockets[1], large, sizeof(large), 0), sizeof(large));
	assert_int_equal(hk_page_link_take(sockets[0], &reply, &body), -EBADMSG);
	/* A reply without a body. */
	assert_int_equal(send(sockets[1], "\x08\x01", 2, 0), 2);
	assert_int_equal(hk_page_link_take(sockets[0], &reply, &body), -EBADMSG);
	assert_int_equal(shutdown(sockets[0], SHUT_RDWR), 0);
	assert_int_equal(hk_page_link_request(sockets[1], &request), -ECONNRESET);
}

static void test_a_request_that_is_too_long_is_not_sent(void **state)
{
	static char path[20000];
	Hk__PageRequest request = HK__PAGE_REQUEST__INIT;
	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	request.path = path;
	assert_int_equal(hk_page_link_ask(sockets[0], &request), -EMSGSIZE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_sockets, close_sockets)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_a_request_arrives_whole),
	    TEST(test_a_reply_comes_with_its_body),
	    TEST(test_a_body_of_another_size_is_refused),
	    TEST(test_a_file_that_can_change_is_refused),
	    TEST(test_what_is_no_message_is_refused),
	    TEST(test_a_request_that_is_too_long_is_not_sent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
