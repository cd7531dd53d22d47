/* What a URL says of itself, and which files of tokens are taken; TLS itself is shown by the
 * integration test of access. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/access.h"
#include "wire/dial.h"

#define READ_TOKEN "0123456789abcdef"
#define CONTROL_TOKEN "fedcba9876543210fedcba9876543210"

static char directory[] = "/tmp/hk-access-XXXXXX";
static char path[64];

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(directory)) {
		return -1;
	}
	snprintf(path, sizeof(path), "%s/tokens", directory);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

static void write_tokens(const char *text, mode_t mode)
{
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void test_urls_say_where_they_lead(void **state)
{
	static const struct {
		const char *url;
		enum hk_transport transport;
		int loopback;
	} cases[] = {
	    {"ipc:///run/x", HK_TRANSPORT_LOCAL, 1},
	    {"tcp://127.0.0.1:1", HK_TRANSPORT_TCP, 1},
	    {"tcp://127.1.2.3:1", HK_TRANSPORT_TCP, 1},
	    {"tcp://localhost:1", HK_TRANSPORT_TCP, 1},
	    {"tcp://[::1]:1", HK_TRANSPORT_TCP, 1},
	    {"tcp://127.0.0.1.evil.org:1", HK_TRANSPORT_TCP, 0},
	    {"tcp://127.0.0.999:1", HK_TRANSPORT_TCP, 0},
	    {"tcp://localhost.evil.org:1", HK_TRANSPORT_TCP, 0},
	    {"tcp://0.0.0.0:1", HK_TRANSPORT_TCP, 0},
	    {"tcp://:1", HK_TRANSPORT_TCP, 0},
	    {"tcp://*:1", HK_TRANSPORT_TCP, 0},
	    {"tcp://10.0.0.1:1", HK_TRANSPORT_TCP, 0},
	    {"tls+tcp://10.0.0.1:1", HK_TRANSPORT_TLS, 0},
	    {"tls+tcp://127.0.0.1:1", HK_TRANSPORT_TLS, 1},
	    {"ws://127.0.0.1:1", HK_TRANSPORT_UNKNOWN, 1},
	    {"nonsense", HK_TRANSPORT_UNKNOWN, 0},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hk_access_url said = hk_access_url(cases[i].url);
		if (said.transport != cases[i].transport ||
		    (said.transport && said.loopback != cases[i].loopback)) {
			fail_msg("%s: %d %d", cases[i].url, (int)said.transport, said.loopback);
		}
	}
}

static void test_the_token_that_gives_most_is_shown(void **state)
{
	char token[HK_ACCESS_TOKEN_MAX + 1], problem[HK_ACCESS_PROBLEM_BYTES];
	(void)state;
	write_tokens(
	    "# mine\n\nread " READ_TOKEN "\ncontrol\t" CONTROL_TOKEN " \r\nread " READ_TOKEN, 0600);
	assert_int_equal(hk_access_token(path, token, problem), 0);
	assert_string_equal(token, CONTROL_TOKEN);
	write_tokens("read " READ_TOKEN, 0400);
	assert_int_equal(hk_access_token(path, token, problem), 0);
	assert_string_equal(token, READ_TOKEN);
}

static void test_files_that_make_no_sense_are_refused(void **state)
{
	static const char *const texts[] = {
	    "",
	    "# none\n",
	    "write " READ_TOKEN,
	    "read short",
	    "read",
	    "read " READ_TOKEN " user " CONTROL_TOKEN,
	    "read " READ_TOKEN " nobody-has-a-name-that-is-so-long-as-this",
	    CONTROL_TOKEN,
	};
	char token[HK_ACCESS_TOKEN_MAX + 1], problem[HK_ACCESS_PROBLEM_BYTES];
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_tokens(texts[i], 0600);
		assert_int_equal(hk_access_token(path, token, problem), -EINVAL);
		assert_non_null(strstr(problem, path));
		assert_null(strstr(problem, READ_TOKEN));
		assert_null(strstr(problem, CONTROL_TOKEN));
	}
	assert_int_equal(hk_access_token("/nowhere/at/all", token, problem), -ENOENT);
	assert_int_equal(hk_access_token("/dev/zero", token, problem), -EACCES);
}

static void test_what_others_may_read_is_no_secret(void **state)
{
	char token[HK_ACCESS_TOKEN_MAX + 1], problem[HK_ACCESS_PROBLEM_BYTES];
	(void)state;
	static const mode_t modes[] = {0640, 0604, 0620, 0602, 0666};
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		write_tokens("read " READ_TOKEN, modes[i]);
		assert_int_equal(hk_access_token(path, token, problem), -EACCES);
		assert_non_null(strstr(problem, "chmod 600"));
	}
}

static void test_what_root_lets_a_group_read_is_one_for_its_members(void **state)
{
	char token[HK_ACCESS_TOKEN_MAX + 1], problem[HK_ACCESS_PROBLEM_BYTES];
	(void)state;
	if (geteuid() != 0) {
		skip();
	}
	assert_int_equal(chmod(directory, 0755), 0);
	static const struct {
		mode_t mode;
		int result;
	} cases[] = {{0440, 0}, {0640, 0}, {0660, -EACCES}, {0444, -EACCES}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_tokens("read " READ_TOKEN, cases[i].mode);
		assert_int_equal(chown(path, 0, 65534), 0);
		assert_int_equal(setegid(65534), 0);
		assert_int_equal(seteuid(65534), 0);
		int r = hk_access_token(path, token, problem);
		assert_int_equal(seteuid(0), 0);
		assert_int_equal(setegid(0), 0);
		assert_int_equal(r, cases[i].result);
	}
}

static void test_dialling_needs_trust(void **state)
{
	nng_socket none = NNG_SOCKET_INITIALIZER;
	char problem[HK_ACCESS_PROBLEM_BYTES];
	(void)state;
	assert_int_equal(hk_dial(none, "tcp://10.1.2.3:4", NULL, 0, problem), -EINVAL);
	assert_non_null(strstr(problem, "tls+tcp://10.1.2.3:4"));
	assert_int_equal(hk_dial(none, "tls+tcp://10.1.2.3:4", NULL, 0, problem), -EINVAL);
	assert_non_null(strstr(problem, "--tls-ca"));
	const struct hk_access half = {.authorities = path, .certificate = path};
	assert_int_equal(hk_dial(none, "tls+tcp://10.1.2.3:4", &half, 0, problem), -EINVAL);
	assert_non_null(strstr(problem, "belong together"));
	write_tokens("no certificate", 0600);
	const struct hk_access wrong = {.authorities = path};
	assert_int_equal(hk_dial(none, "tls+tcp://10.1.2.3:4", &wrong, 0, problem), -EINVAL);
	assert_non_null(strstr(problem, "no certificate in it"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_urls_say_where_they_lead),
	    cmocka_unit_test(test_the_token_that_gives_most_is_shown),
	    cmocka_unit_test(test_files_that_make_no_sense_are_refused),
	    cmocka_unit_test(test_what_others_may_read_is_no_secret),
	    cmocka_unit_test(test_what_root_lets_a_group_read_is_one_for_its_members),
	    cmocka_unit_test(test_dialling_needs_trust),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
