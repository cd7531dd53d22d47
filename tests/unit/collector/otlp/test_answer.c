/* Answers to pushes: what is read of them, whole, in parts, and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/otlp/answer.h"

/* partial_success {rejected_data_points: 300, error_message: "old\x1b"} */
#define PARTIAL "\x0a\x09\x08\xac\x02\x12\x04old\x1b"
#define NOW_S 1000000000u /* 9 September 2001, 01:46:40 */

/* Parses TEXT of SIZE from memory of exactly this size, so that a sanitizer sees a read behind it.
 */
static int parse(const char *text, size_t size, bool last, struct hk_otlp_answer *answer)
{
	char *copy = malloc(size > 0 ? size : 1);
	assert_non_null(copy);
	memcpy(copy, text, size);
	int r = hk_otlp_answer_parse(copy, size, last, NOW_S, answer);
	free(copy);
	return r;
}

#define ANSWER(text) (text), sizeof(text) - 1

static void test_what_is_read(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		bool last;
		unsigned status;
		uint32_t wait_s;
		uint64_t rejected;
		const char *said;
	} cases[] = {
	    {ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), false, 200, 0, 0, ""},
	    {ANSWER("HTTP/1.0 200\n\n"), true, 200, 0, 0, ""},
	    {ANSWER("HTTP/1.1 204 No Content\r\n\r\n"), false, 204, 0, 0, ""},
	    {ANSWER("HTTP/1.1 200 OK\r\ncontent-length:11\r\n\r\n" PARTIAL), false, 200, 0, 300,
	     "old?"},
	    {ANSWER("HTTP/1.1 200 OK\r\n\r\n" PARTIAL), true, 200, 0, 300, "old?"},
	    {ANSWER("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\n\x0a\x09\x08\r\n"
		    "8\r\n\xac\x02\x12\x04old\x1b\r\n0\r\n\r\n"),
	     false, 200, 0, 300, "old?"},
	    {ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), false, 200, 0, 0, ""},
	    {ANSWER("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 Bad Request\r\nContent-Length: "
		    "5\r\n\r\n\x12\x03why"),
	     false, 400, 0, 0, "why"},
	    {ANSWER("HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"), false, 503,
	     7, 0, ""},
	    {ANSWER("HTTP/1.1 503 No\r\nRetry-After: 99999999999999999999\r\n\r\n"), true, 503,
	     HK_OTLP_WAIT_MAX_S, 0, ""},
	    {ANSWER("HTTP/1.1 503 No\r\nRetry-After: -7\r\n\r\n"), true, 503, 0, 0, ""},
	    {ANSWER("HTTP/1.1 429 No\r\nRetry-After: Sun, 09 Sep 2001 01:47:10 GMT\r\n\r\n"), true,
	     429, 30, 0, ""},
	    {ANSWER("HTTP/1.1 429 No\r\nRetry-After: Sun, 09 Sep 2001 01:46:10 GMT\r\n\r\n"), true,
	     429, 0, 0, ""},
	    {ANSWER("HTTP/1.1 500 No\r\nContent-Length: 99\r\n\r\n<html>"), true, 500, 0, 0, ""},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hk_otlp_answer answer;
		int r = parse(cases[i].text, cases[i].size, cases[i].last, &answer);
		if (r != 1) {
			fail_msg("%d of %s", r, cases[i].text);
		}
		assert_int_equal(answer.status, cases[i].status);
		assert_int_equal(answer.wait_s, cases[i].wait_s);
		assert_int_equal(answer.rejected, cases[i].rejected);
		assert_string_equal(answer.said, cases[i].said);
		/* Any part of it waits for more, but for the empty line behind the last chunk. */
		for (size_t size = 0; size < cases[i].size && !cases[i].last; size++) {
			r = parse(cases[i].text, size, false, &answer);
			assert_true(r == 0 || (r == 1 && size + 2 >= cases[i].size));
		}
	}
}

static void test_what_is_no_answer(void **state)
{
	static const struct {
		const char *text;
		size_t size;
	} cases[] = {
	    {ANSWER("")},
	    {ANSWER("220 mail ESMTP\r\n\r\n")},
	    {ANSWER("HTTP/2 200\r\n\r\n")},
	    {ANSWER("HTTP/1.1 2000\r\n\r\n")},
	    {ANSWER("HTTP/1.1 099 x\r\n\r\n")},
	    {ANSWER("HTTP/1.1 200 OK\r\n: no name\r\n\r\n")},
	    {ANSWER("HTTP/1.1 200 OK\r\nno colon\r\n\r\n")},
	    {ANSWER("HTTP/1.1 200 OK\r\n\r\n<html>")},
	    {ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx")},
	    {ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n\x0a\x09\x08")},
	    {ANSWER("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n")},
	    {ANSWER("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		    "ffffffffffffffff\r\nx\r\n0\r\n\r\n")},
	    {ANSWER("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n")},
	};
	struct hk_otlp_answer answer;
	char *long_one = malloc(HK_OTLP_ANSWER_BYTES + 1);
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (parse(cases[i].text, cases[i].size, true, &answer) != -EBADMSG) {
			fail_msg("an answer: %s", cases[i].text);
		}
	}
	assert_non_null(long_one);
	memset(long_one, 'x', HK_OTLP_ANSWER_BYTES + 1);
	memcpy(long_one, ANSWER("HTTP/1.1 200 OK\r\n"));
	assert_int_equal(parse(long_one, HK_OTLP_ANSWER_BYTES + 1, true, &answer), -EBADMSG);
	assert_int_equal(parse(long_one, HK_OTLP_ANSWER_BYTES, true, &answer), -EBADMSG);
	free(long_one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_read),
	    cmocka_unit_test(test_what_is_no_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
