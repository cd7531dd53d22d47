/* Heads of HTTP requests, whole, in parts and senseless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/http/http_head.h"

/* Parses a copy of TEXT's first SIZE bytes, which is to be freed. */
static int parse(const char *text, size_t size, char **ret_copy, struct hk_http_head *ret_head)
{
	*ret_copy = malloc(size ? size : 1);
	assert_non_null(*ret_copy);
	memcpy(*ret_copy, text, size);
	return hk_http_head_parse(*ret_copy, size, ret_head);
}

static void test_a_request_is_known_when_its_head_is_there(void **state)
{
	static const char request[] = "GET /metrics?x=1 HTTP/1.1\r\n"
				      "Host: h\r\n"
				      "accept:  text/plain;q=0.5\t\r\n"
				      "AUTHORIZATION: bearer  read-read-read-read \r\n"
				      "X: \r\n"
				      "\r\n";
	struct hk_http_head head;
	char *copy;
	(void)state;
	for (size_t size = 0; size + 1 < sizeof(request) - 1; size++) {
		assert_int_equal(parse(request, size, &copy, &head), 0);
		free(copy);
	}
	/* What follows does not matter. */
	assert_int_equal(parse(request, sizeof(request), &copy, &head), 1);
	assert_string_equal(head.method, "GET");
	assert_string_equal(head.path, "/metrics");
	assert_string_equal(head.accept, "text/plain;q=0.5");
	assert_string_equal(head.bearer, "read-read-read-read");
	free(copy);
}

static void test_lines_may_end_without_a_return(void **state)
{
	static const char request[] = "HEAD / HTTP/1.0\nAuthorization: Basic abc\n\n";
	struct hk_http_head head;
	char *copy;
	(void)state;
	assert_int_equal(parse(request, sizeof(request) - 1, &copy, &head), 1);
	assert_string_equal(head.method, "HEAD");
	assert_string_equal(head.path, "/");
	assert_null(head.accept);
	assert_null(head.bearer);
	free(copy);
}

static void test_a_browser_sends_its_token_as_a_password(void **state)
{
	static const struct {
		const char *value, *token;
	} cases[] = {
	    {"Basic cmVhZGVyOnRva2VuLXRva2Vu", "token-token"}, /* reader:token-token */
	    {"basic  OmE6Yg==", "a:b"},			       /* :a:b */
	    {"Basic cmVhZGVyOg==", NULL},		       /* reader: */
	    {"Basic cmVhZGVy", NULL},			       /* reader */
	    {"Basic OmEAYg==", NULL},			       /* a NUL inside */
	    {"Basic %%%", NULL},
	    {"Basic", NULL},
	    {"Digest a", NULL},
	};
	char request[256], *copy;
	struct hk_http_head head;
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int size = snprintf(request, sizeof(request),
				    "GET / HTTP/1.1\r\nHost: h:1\r\nAuthorization: %s\r\n\r\n",
				    cases[i].value);
		assert_int_equal(parse(request, (size_t)size, &copy, &head), 1);
		assert_string_equal(head.host, "h:1");
		if (cases[i].token) {
			assert_string_equal(head.bearer, cases[i].token);
		} else {
			assert_null(head.bearer);
		}
		free(copy);
	}
}

static void test_what_is_no_request_is_refused(void **state)
{
	static const char *const texts[] = {
	    "\r\n\r\n",
	    "GET\r\n\r\n",
	    "GET /metrics\r\n\r\n",
	    " /metrics HTTP/1.1\r\n\r\n",
	    "GET http://h/metrics HTTP/1.1\r\n\r\n",
	    "GET /metrics HTTP/2\r\n\r\n",
	    "GET /metrics HTTP/1.1\r\nno colon\r\n\r\n",
	    "GET /metrics HTTP/1.1\r\n: none\r\n\r\n",
	    "GET /metrics HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
	};
	struct hk_http_head head;
	char *copy;
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(parse(texts[i], strlen(texts[i]), &copy, &head), -EBADMSG);
		free(copy);
	}
	/* As of TLS, at once. */
	assert_int_equal(parse("\x16\x03\x01\x00\xa5", 5, &copy, &head), -EBADMSG);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_request_is_known_when_its_head_is_there),
	    cmocka_unit_test(test_lines_may_end_without_a_return),
	    cmocka_unit_test(test_a_browser_sends_its_token_as_a_password),
	    cmocka_unit_test(test_what_is_no_request_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
