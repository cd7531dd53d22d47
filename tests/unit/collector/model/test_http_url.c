/* Addresses of HTTP: their parts, and what is no address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/model/http_url.h"

static void test_parts_of_addresses(void **state)
{
	static const struct {
		const char *text, *host, *port, *path;
		bool tls, literal;
	} cases[] = {
	    {"http://h", "h", "80", "", false, false},
	    {"https://otel.example.com", "otel.example.com", "443", "", true, false},
	    {"http://h/", "h", "80", "", false, false},
	    {"http://127.0.0.1:4318/a/b//", "127.0.0.1", "4318", "/a/b", false, true},
	    {"https://[::1]:1/v1/metrics", "[::1]", "1", "/v1/metrics", true, true},
	    {"http://10.example:65535", "10.example", "65535", "", false, false},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hk_http_url url;
		assert_int_equal(hk_http_url_parse(cases[i].text, &url), 0);
		assert_string_equal(url.host, cases[i].host);
		assert_string_equal(url.port, cases[i].port);
		assert_string_equal(url.path, cases[i].path);
		assert_int_equal(url.tls, cases[i].tls);
		assert_int_equal(url.literal, cases[i].literal);
	}
}

static void test_other_texts_are_refused(void **state)
{
	static const char *const cases[] = {
	    "",
	    "h:1",
	    "ftp://h",
	    "http://",
	    "http:///p",
	    "http://h:",
	    "http://h:0",
	    "http://h:65536",
	    "http://h:-1",
	    "http://h:1x",
	    "http://h:123456",
	    "http://u:p@h",
	    "http://h/p?q",
	    "http://h/p#f",
	    "http://h/a b",
	    "http://h/\r\nA: b",
	    "http://h\tx",
	    "http://[::1",
	    "http://[]",
	    "http://[g]:1",
	    "HTTP://h",
	    "http://\xc3\xa9",
	};
	char text[1200] = "http://";
	struct hk_http_url url;
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (hk_http_url_parse(cases[i], &url) != -EINVAL) {
			fail_msg("'%s' is an address", cases[i]);
		}
	}
	memset(text + 7, 'a', 256);
	assert_int_equal(hk_http_url_parse(text, &url), -EINVAL);
	text[8] = '/';
	assert_int_equal(hk_http_url_parse(text, &url), 0);
	memset(text + 9, 'a', 600);
	assert_int_equal(hk_http_url_parse(text, &url), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_parts_of_addresses),
	    cmocka_unit_test(test_other_texts_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
